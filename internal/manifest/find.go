package manifest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/env"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
)

// FileName is the name that Find looks for.
const FileName = "perstack.toml"

// Errors of Find and Locate. Commands that can do without a perstack.toml test for
// ErrNotFound. A file that the user named and that does not exist is another error.
var (
	ErrNotFound = errors.New(FileName + " not found")
	ErrForeign  = errors.New("belongs to another user")
)

// An UnusableError is about a file that Find found and did not take.
type UnusableError struct {
	Path string
	Err  error // ErrForeign, or why it cannot be read
}

func (e *UnusableError) Error() string {
	if errors.Is(e.Err, ErrForeign) {
		return e.Path + " " + e.Err.Error()
	}
	return "cannot read " + e.Path + ": " + e.Err.Error()
}

func (e *UnusableError) Unwrap() error { return e.Err }

// Find looks for perstack.toml in dir and its parents. A file that is there but
// cannot be read ends the search with an error: continuing would silently use
// another project's file.
func Find(dir string) (string, error) {
	start, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot look for %s: %w", FileName, err)
	}
	for at := start; ; at = filepath.Dir(at) {
		path := filepath.Join(at, FileName)
		f, err := userfile.OpenRegular(path)
		if err == nil {
			foreign := at != start && userfile.Foreign(f)
			f.Close()
			if foreign {
				return "", &UnusableError{path, ErrForeign}
			}
			return path, nil
		}
		if userfile.Absent(err) {
			err = danglingLink(path)
		}
		if err != nil {
			return "", &UnusableError{path, userfile.Reason(err)}
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%w in %s or any parent", ErrNotFound, start)
		}
	}
}

// danglingLink tells a link that leads nowhere from no file at all: somebody put
// it there, and meant a file.
func danglingLink(path string) error {
	target, err := os.Readlink(path)
	if err != nil {
		return nil // not a link
	}
	return fmt.Errorf("it is a link to %q, which does not exist", target)
}

// Locate returns the path of the file that the user named, relative to dir. If the user named
// none, it is that of [Find].
func Locate(dir, config string) (string, error) {
	switch err := refuseRemote(config); {
	case config == "":
		return Find(dir)
	case err != nil:
		return "", err
	case filepath.IsAbs(config):
		// The file that is loaded is also hidden from tools, by its path: a link before a
		// ".." must make no difference.
		return filepath.Clean(config), nil
	}
	return filepath.Join(dir, config), nil
}

// IsRemote reports whether the user named a file by a URL.
func IsRemote(config string) bool {
	lower := strings.ToLower(config)
	return strings.HasPrefix(lower, "http://") || strings.HasPrefix(lower, "https://")
}

func refuseRemote(path string) error {
	if IsRemote(path) {
		return fmt.Errorf("remote configuration cannot be loaded here: %s; download it and pass the path", wording.Quote(path))
	}
	return nil
}

// Load reads and parses a perstack.toml. The error is about the file as a
// whole; what is wrong inside is in Problems, and the Config is nil if that
// holds an error.
func Load(path string) (*Config, toml.Problems, error) {
	if err := refuseRemote(path); err != nil {
		return nil, nil, err
	}
	data, err := userfile.Read(path, maxFile)
	switch {
	case err == nil:
	case userfile.Absent(err):
		if link := danglingLink(path); link != nil {
			err = link
		}
		return nil, nil, fmt.Errorf("config file %q not found: %w; check the path", path, err)
	default:
		return nil, nil, fmt.Errorf("cannot read config file %q: %w", path, err)
	}
	c, problems := Parse(path, data)
	if c != nil {
		c.SHA256 = userfile.Digest(data)
	}
	return c, problems, nil
}

// EnvFiles lists the env files of a run: those that flags name, relative to cwd; else those
// of envPath, relative to the file; else .env and .env.local in cwd. A leading ~ is home; if
// that is empty, [env.Load] reports the file. The Config may be nil. The files .env and
// .env.local need not exist even if they are named: many projects name them for those who
// have them.
func EnvFiles(cwd, home string, flags []string, c *Config) []env.File {
	usual := []string{".env", ".env.local"}
	dir, paths := cwd, usual
	switch {
	case len(flags) > 0:
		paths = flags
	case c != nil && c.EnvPath != nil:
		dir, paths = c.Dir, c.EnvPath
	}
	files := make([]env.File, 0, len(paths))
	for _, p := range paths {
		f := env.File{Path: p, Explicit: !slices.Contains(usual, filepath.Clean(p))}
		rest, tilde := strings.CutPrefix(p, "~")
		switch {
		case tilde && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator):
			if f.NoHome = home == ""; !f.NoHome {
				f.Path = filepath.Join(home, rest)
			}
		case !filepath.IsAbs(p):
			f.Path = filepath.Join(dir, p)
		default:
			f.Path = filepath.Clean(p) // see Locate
		}
		files = append(files, f)
	}
	return files
}
