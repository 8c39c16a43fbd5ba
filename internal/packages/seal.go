package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/perstack-go/perstack/internal/userfile"
)

// A seal is the digest of all files of an installed package. It is recorded when the package
// manager has compared what it fetched with the pinned integrity, and compared before each start.
// It lies beside the packages: what is changed in the directory of a package does not change it.
// A program of the same user that no sandbox confines can change both.

var errTouched = errors.New("its files in the package cache have changed since they were installed")

// sealPath is the file that has the seal of a directory.
func sealPath(home string) string {
	return filepath.Join(filepath.Dir(home), "index", filepath.Base(home)+".sha256")
}

// seal records what was installed in dir, which will be home, and makes the files read-only.
func seal(dir, modules, home string) error {
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^0o222)
	}); err != nil {
		return err
	}
	sum, err := sumOf(filepath.Join(dir, modules))
	if err != nil {
		return err
	}
	path := sealPath(home)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writeWhole(path, []byte(sum+"\n"))
}

// isSealed says why a directory does not have what was installed there, and nothing else.
func isSealed(home, modules string) error {
	want, err := userfile.Read(sealPath(home), 1<<10)
	if err != nil {
		return fmt.Errorf("its files in the package cache have no record: %w", err)
	}
	got, err := sumOf(filepath.Join(home, modules))
	if err != nil {
		return err
	}
	if got+"\n" != string(want) {
		return errTouched
	}
	return nil
}

// sumOf is a digest of all names, kinds and contents below a directory. The files are read in
// parallel: a package can have thousands.
func sumOf(dir string) (string, error) {
	type entry struct {
		name, path string
		kind       fs.FileMode
		content    []byte
		err        error
	}
	var all []*entry
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		all = append(all, &entry{name: filepath.ToSlash(name), path: path, kind: d.Type()})
		return err
	})
	if err != nil {
		return "", err
	}
	todo := make(chan *entry)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), maxReaders) {
		workers.Go(func() {
			buffer := make([]byte, 64<<10)
			for e := range todo {
				e.content, e.err = contentOf(e.path, e.kind, buffer)
			}
		})
	}
	for _, e := range all {
		todo <- e
	}
	close(todo)
	workers.Wait()
	sum := sha256.New()
	for _, e := range all {
		if e.err != nil {
			return "", e.err
		}
		fmt.Fprintf(sum, "%q %s %x\n", e.name, e.kind, e.content)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

const maxReaders = 8

// contentOf is the digest of a file, or the target of a link.
func contentOf(path string, kind fs.FileMode, buffer []byte) ([]byte, error) {
	switch {
	case kind.IsRegular():
		f, err := userfile.OpenRegular(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		sum := sha256.New()
		_, err = io.CopyBuffer(sum, struct{ io.Reader }{f}, buffer)
		return sum.Sum(nil), err
	case kind&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return []byte(to), err
	}
	return nil, nil
}
