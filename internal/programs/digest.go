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
	"github.com/perstack-go/perstack/internal/workspace"
)

// Digest returns a line for each file and link of the program: the SHA-256 of its content, two
// blanks and its path, as sha256sum writes it, in the order of the paths. The text is empty if
// nothing of the program lies in the workspace.
//
// Some files are left out: env files, which containers do not see; .git; and __pycache__, which
// Python does not read if PYTHONPYCACHEPREFIX names another directory.
func (p *Program) Digest() (string, error) {
	lines := make(map[string]string)
	for _, name := range p.Links {
		lines[name] = p.sumOf(name)
	}
	for _, name := range p.Files {
		lines[name] = p.sumOf(name)
	}
	for _, dir := range p.Dirs {
		if err := p.walk(dir, func(name string, _ fs.FileInfo) error {
			lines[name] = p.sumOf(name)
			return nil
		}); err != nil {
			return "", fmt.Errorf("read the program of a skill: %w", err)
		}
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(lines[name] + "  " + quoted(name) + "\n")
	}
	return b.String(), nil
}

// The words for what has no content.
const (
	absent     = "absent"
	unreadable = "unreadable"
)

// sumOf describes one name. A link is its target, and never followed.
func (p *Program) sumOf(name string) string {
	path := p.path(name)
	info, err := os.Lstat(path)
	switch {
	case userfile.Absent(err):
		return absent
	case err != nil:
		return unreadable
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return unreadable
		}
		sum := sha256.Sum256([]byte("link to " + filepath.ToSlash(target)))
		return hex.EncodeToString(sum[:])
	case !info.Mode().IsRegular():
		return unreadable
	}
	f, err := userfile.OpenRegular(path)
	if err != nil {
		return unreadable
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, maxBytes+1)); err != nil {
		return unreadable
	}
	return hex.EncodeToString(sum.Sum(nil))
}

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
		switch base := d.Name(); {
		case workspace.IsEnvFile(base), d.IsDir() && (base == ".git" || base == "__pycache__"):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
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

// Check refuses a text that [Program.Digest] cannot have written.
func Check(text string) error {
	last := ""
	for line := range strings.Lines(text) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || name == "" || !strings.HasSuffix(line, "\n") || !isSum(sum) {
			return fmt.Errorf("%q is not a digest and a path", strings.TrimSuffix(line, "\n"))
		}
		if strings.HasPrefix(name, `"`) {
			if plain, err := strconv.Unquote(name); err != nil || quoted(plain) != name {
				return fmt.Errorf("%s is not a path", name)
			}
		} else if quoted(name) != name {
			return fmt.Errorf("%q is not a path", name)
		}
		if last == name {
			return fmt.Errorf("%s is there twice", name)
		}
		last = name
	}
	return nil
}

func isSum(s string) bool {
	return s == absent || s == unreadable || len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// Compare says in what the files of a program differ from those that were pinned; "" if they are
// the same.
func Compare(pinned, now string) string {
	if pinned == now {
		return ""
	}
	before, after := parse(pinned), parse(now)
	var found []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		switch sum, ok := after[name]; {
		case (!ok || sum == absent) && before[name] != absent:
			found = append(found, name+" is gone")
		case ok && sum != before[name] && before[name] == absent:
			found = append(found, name+" is new")
		case ok && sum != before[name]:
			found = append(found, name+" has changed")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok {
			found = append(found, name+" is new")
		}
	}
	const enough = 3
	if more := len(found) - enough; more > 0 {
		found = append(found[:enough], fmt.Sprintf("and %d more", more))
	}
	if len(found) == 0 {
		return "its files are listed in another way"
	}
	return strings.Join(found, ", ")
}

func parse(text string) map[string]string {
	lines := make(map[string]string)
	for line := range strings.Lines(text) {
		sum, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		lines[name] = sum
	}
	return lines
}
