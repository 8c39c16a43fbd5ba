package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// sealName is the file that says what the files of an installed package were.
const sealName = "files.sha256"

// seal writes down what npm installed. It finds what programs leave behind and what a hand
// changed. It is no protection against a program that runs as the user: that one can write
// the seal as well.
func seal(dir string) error {
	sum, err := sumOf(filepath.Join(dir, modules))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, sealName), []byte(sum+"\n"), 0o600)
}

// isUntouched reports whether a directory has what was installed there and nothing else.
func isUntouched(home string) bool {
	want, err := readFile(filepath.Join(home, sealName), 1<<10)
	if err != nil {
		return false
	}
	got, err := sumOf(filepath.Join(home, modules))
	return err == nil && got+"\n" == string(want)
}

// sumOf is a digest of all names, kinds and contents below a directory.
func sumOf(dir string) (string, error) {
	all := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		var content []byte
		switch {
		case d.Type().IsRegular():
			content, err = fileSum(path)
		case d.Type()&fs.ModeSymlink != 0:
			var to string
			to, err = os.Readlink(path)
			content = []byte(to)
		}
		fmt.Fprintf(all, "%q %s %x\n", filepath.ToSlash(name), d.Type(), content)
		return err
	})
	return hex.EncodeToString(all.Sum(nil)), err
}

func fileSum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sum.Sum(nil), err
}
