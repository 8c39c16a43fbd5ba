package programs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace"
)

// Digest returns a line for each file and link of the program: the SHA-256 of its content, two
// blanks and its path, as sha256sum writes it, in the order of the paths. The text is empty if
// nothing of the program lies in the workspace.
//
// Some files are left out: env files, which containers do not see; the directory .git; and compiled
// code in __pycache__, which Python does not read if PYTHONPYCACHEPREFIX names another directory. A
// file that cannot be read is an error: it could be another one at the next start.
func (p *Program) Digest() (string, error) {
	lines := make(map[string]string)
	add := func(name string, _ fs.FileInfo) (err error) {
		if lines[name], err = p.sumOf(name); err != nil {
			err = withQuotedPath(err)
		}
		return err
	}
	var err error
	for _, name := range slices.Concat(p.Links, p.Files, p.Manifests) {
		err = errors.Join(err, add(name, nil))
	}
	for _, dir := range p.Dirs {
		err = errors.Join(err, p.walk(dir, add))
	}
	if err != nil {
		return "", fmt.Errorf("read the program of a skill: %w", err)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(lines[name] + "  " + quoted(name) + "\n")
	}
	return b.String(), nil
}

// withQuotedPath returns an error whose path cannot pass for text of perstack: an argument of a
// skill names it.
func withQuotedPath(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s %q: %w", at.Op, at.Path, at.Err)
	}
	return err
}

// absent is the word for a file that does not exist.
const absent = "absent"

// sumOf describes one name. A link is its target, and never followed.
func (p *Program) sumOf(name string) (string, error) {
	path := p.path(name)
	info, err := os.Lstat(path)
	if userfile.Absent(err) {
		return absent, nil
	}
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		return linkSum(target), err
	}
	f, err := userfile.OpenRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(f, maxBytes+1))
	if err == nil && n > maxBytes {
		err = fmt.Errorf("%s has more than %d MiB", path, maxBytes>>20)
	}
	return hex.EncodeToString(sum.Sum(nil)), err
}

func linkSum(target string) string {
	sum := sha256.Sum256([]byte("link to " + filepath.ToSlash(target)))
	return hex.EncodeToString(sum[:])
}

// isLeftOut reports whether something is no part of a program. A name that a loader takes for code
// is none of an env file, and a directory is none: people call virtual environments .env.
func (p *Program) isLeftOut(path string, mode fs.FileMode) bool {
	base := filepath.Base(path)
	switch {
	case mode.IsDir():
		return base == ".git"
	case filepath.Base(filepath.Dir(path)) == "__pycache__":
		return !p.compiled && mode.IsRegular() && filepath.Ext(base) == ".pyc"
	}
	return isEnvFile(base)
}

func isEnvFile(base string) bool { return workspace.IsEnvFile(base) && !IsCodeName(base) }

// walk calls do with everything in a directory that is no directory, in order. It follows no
// links.
func (p *Program) walk(dir string, do func(name string, info fs.FileInfo) error) error {
	return filepath.WalkDir(p.path(dir), func(path string, d fs.DirEntry, err error) error {
		if userfile.Absent(err) {
			return nil
		}
		name, inside := p.name(path)
		if err != nil || !inside {
			return errors.Join(err, errOutside(inside))
		}
		leftOut := p.isLeftOut(path, d.Type())
		switch {
		case d.IsDir() && leftOut:
			return fs.SkipDir
		case d.IsDir() || leftOut:
			return nil
		}
		info, err := d.Info()
		if userfile.Absent(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return do(name, info)
	})
}

func errOutside(inside bool) error {
	if inside {
		return nil
	}
	return errors.New("a directory of it was moved")
}

// quoted writes a path that would not fit into a line, or that could be mistaken for another.
func quoted(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}

// maxShown bounds a path in a message.
const maxShown = 256

// Check refuses a text that [Program.Digest] cannot have written.
func Check(text string) error {
	last := ""
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		sum, name, ok := strings.Cut(line, "  ")
		if !ok || name == "" || !ended || !isSum(sum) {
			return fmt.Errorf("%s is not a digest and a path", wording.Quote(line))
		}
		plain := name
		if strings.HasPrefix(name, `"`) {
			plain, _ = strconv.Unquote(name) // what is not quoted is no path, as the empty text is none
		}
		switch {
		case plain == "" || quoted(plain) != name:
			return fmt.Errorf("%s is not a path", wording.Quote(name))
		case plain == last:
			return fmt.Errorf("%s is there twice", wording.Cut(name, maxShown))
		case plain < last:
			return fmt.Errorf("%s is not in the order of the paths", wording.Cut(name, maxShown))
		}
		last = plain
	}
	return nil
}

func isSum(s string) bool {
	return s == absent || len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// Count returns how many files and links a digest has that exist.
func Count(text string) int { return len(parse(text)) }

// parse returns the digests of a text by their names. What does not exist is left out.
func parse(text string) map[string]string {
	lines := make(map[string]string)
	for line := range strings.Lines(text) {
		if sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); sum != absent {
			lines[name] = sum
		}
	}
	return lines
}
