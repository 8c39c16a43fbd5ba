// Package state knows the user's state directory, where perstack keeps what no workspace may
// contain:
//
//	<state>/seal.keys                  the keys that seal the records of jobs
//	<state>/projects/<name>-<hash>/    one directory for each project
//	    project.json                   which project it is
//	    jobs/                          its history (package store/file)
//	    files/                         states of workspaces (package workspace/snapshot)
//	    skills/                        a directory for each skill, for its data (package skills)
//	    protect/                       trusted files that jobs changed (package protect)
//	    inputs.jsonl                   what the user typed (package inputs)
//	<state>/storage/<hash>             the path of a directory that the user chose for a history
//	<state>/workspaces/<hash>          the lock of a workspace (package restore)
//	<state>/remote/<hash>/             one directory for each perstack.toml that was fetched
//	    pin.json                       its URL, and the digest that the user confirmed
//	    perstack.toml, perstack.lock   the copy, and its lockfile
//	<state>/registry/                  what was verified of registries (package registry/trust)
//
// A project is the directory of a perstack.toml, or a workspace without one. The hash is that
// of its path, so two projects of one name have two histories.
//
// The package decides where things lie. It reads and writes nothing but project.json, the keys,
// the paths of chosen directories and the files of a remote perstack.toml. Start reading at [Find],
// then [Dir.Project].
package state

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/userfile"
)

// A Dir is the path of the user's state directory.
type Dir string

// ErrUnknown is returned if the system does not say where the state of the user is kept.
var ErrUnknown = errors.New("the home directory is not known, so there is no place for the history")

// Find returns the state directory of the user: $XDG_STATE_HOME/perstack or
// ~/.local/state/perstack, and the usual places on macOS and Windows. goos is the system,
// home the home directory, and getenv returns variables of the environment.
func Find(goos, home string, getenv func(string) string) (Dir, error) {
	var base string
	switch goos {
	case "windows":
		base = getenv("LocalAppData")
	case "darwin":
		if home != "" {
			base = filepath.Join(home, "Library", "Application Support")
		}
	default:
		base = getenv("XDG_STATE_HOME")
		if !filepath.IsAbs(base) { // a relative path is not valid: it would depend on the working directory
			base = ""
		}
		if base == "" && home != "" {
			base = filepath.Join(home, ".local", "state")
		}
	}
	if base == "" {
		return "", ErrUnknown
	}
	return Dir(filepath.Join(base, "perstack")), nil
}

const (
	projectsName = "projects"
	recordName   = "project.json"

	maxName   = 40 // bytes of a project's name in the name of its directory
	hashBytes = 8  // of the hash there: two of a user's projects never share it by chance
	maxRecord = 64 << 10

	maxProjects = 1_000_000
)

// A Project is a project and where its state is kept.
type Project struct {
	Path  string // the project's own directory, without symbolic links
	State string // below the state directory
}

// ID names the project. It changes when the project is moved.
func (p Project) ID() string { return filepath.Base(p.State) }

// Skills returns where the skills of the project keep their data; "" if there is no place.
func (p Project) Skills() string {
	if p.State == "" {
		return ""
	}
	return filepath.Join(p.State, "skills")
}

// Inputs returns the file with what the user typed; "" if there is no place.
func (p Project) Inputs() string {
	if p.State == "" {
		return ""
	}
	return filepath.Join(p.State, "inputs.jsonl")
}

// Caches returns where sandboxes of the project keep what commands write to caches of tools; ""
// if there is no place.
func (p Project) Caches() string {
	if p.State == "" {
		return ""
	}
	return filepath.Join(p.State, "cache")
}

// Project returns the project in a directory. A directory that is reached through a symbolic
// link is the same project.
func (d Dir) Project(dir string) (Project, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return Project{}, err
	}
	if path, err = Resolve(path); err != nil {
		return Project{}, err
	}
	sum := sha256.Sum256([]byte(path))
	id := directoryName(filepath.Base(path)) + "-" + hex.EncodeToString(sum[:hashBytes])
	return Project{Path: path, State: filepath.Join(string(d), projectsName, id)}, nil
}

// Resolve returns a path without symbolic links. A project that was removed has a history
// still, so of its path only what exists is resolved.
func Resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) || path == filepath.Dir(path) {
		return real, err
	}
	parent, err := Resolve(filepath.Dir(path))
	return filepath.Join(parent, filepath.Base(path)), err
}

// directoryName makes part of a directory's name from a project's name, which can have any
// character.
func directoryName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
	return cmp.Or(strings.Trim(name[:min(len(name), maxName)], "_"), "project")
}

// A record is the content of project.json.
type record struct {
	Path string `json:"path"`
	// OldHistory says that the user was told of the history of an older version.
	OldHistory bool `json:"oldHistory,omitzero"`
	// Adopted are the ids that the project had before it was moved.
	Adopted []string `json:"adopted,omitempty"`
}

// Projects returns the projects that have state, by path. A directory without a readable
// project.json is left out: it says nothing about a project.
func (d Dir) Projects() ([]Project, error) {
	states, err := d.States()
	if err != nil {
		return nil, err
	}
	var all []Project
	for _, dir := range states {
		p := Project{State: dir}
		if r, err := p.read(); err == nil && filepath.IsAbs(r.Path) {
			p.Path = r.Path
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Project) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// Gone returns the projects that have state, but are not where they were.
func (d Dir) Gone() ([]Project, error) {
	projects, err := d.Projects()
	return slices.DeleteFunc(projects, func(p Project) bool {
		_, err := os.Stat(p.Path)
		return !errors.Is(err, fs.ErrNotExist)
	}), err
}

// States returns the directories that hold the state of projects.
func (d Dir) States() ([]string, error) {
	dir := filepath.Join(string(d), projectsName)
	names, err := userfile.Names(dir, maxProjects)
	if err != nil && !userfile.Absent(err) {
		return nil, err
	}
	for i, name := range names {
		names[i] = filepath.Join(dir, name)
	}
	return names, nil
}

// Record makes the project's directory and writes project.json, unless it exists.
func (p Project) Record() error {
	if _, err := p.read(); !userfile.Absent(err) {
		return err
	}
	return p.write(record{})
}

// TellOldHistory reports whether the user has not been told of the history of an older version
// yet, and records that this happens now.
func (p Project) TellOldHistory() (bool, error) {
	r, err := p.read()
	if err != nil && !userfile.Absent(err) || r.OldHistory {
		return false, err
	}
	r.OldHistory = true
	return true, p.write(r)
}

// Adopt records that the project has taken over the history of another, and what that one has
// taken over before.
func (p Project) Adopt(other Project) error {
	r, err := p.read()
	if err != nil && !userfile.Absent(err) {
		return err
	}
	before, err := other.Adopted()
	if err != nil {
		return err
	}
	for _, id := range append(before, other.ID()) {
		if !slices.Contains(r.Adopted, id) {
			r.Adopted = append(r.Adopted, id)
		}
	}
	return p.write(r)
}

// Adopted returns the ids of the projects whose history this one has taken over.
func (p Project) Adopted() ([]string, error) {
	r, err := p.read()
	if userfile.Absent(err) {
		return nil, nil
	}
	return r.Adopted, err
}

// MoveSkills moves the data of skills from another project to this one. A skill that has data here
// keeps it; what it had there stays there.
func (p Project) MoveSkills(from Project) error {
	names, err := userfile.Names(from.Skills(), maxProjects)
	if userfile.Absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(p.Skills(), 0o700); err != nil {
		return err
	}
	for _, name := range names {
		to := filepath.Join(p.Skills(), name)
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if err := os.Rename(filepath.Join(from.Skills(), name), to); err != nil {
			return err
		}
	}
	return nil
}

// Forget removes project.json, so that the project is no longer listed, and the directories that
// are empty. What the project had is elsewhere.
func (p Project) Forget() error {
	if err := os.Remove(filepath.Join(p.State, recordName)); err != nil {
		return err
	}
	entries, err := os.ReadDir(p.State)
	for _, e := range entries {
		if e.IsDir() {
			_ = os.Remove(filepath.Join(p.State, e.Name())) // fails if it is not empty
		}
	}
	if err == nil {
		_ = os.Remove(p.State)
	}
	return err
}

func (p Project) read() (r record, err error) {
	data, err := userfile.Read(filepath.Join(p.State, recordName), maxRecord)
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}

// write replaces project.json.
func (p Project) write(r record) error {
	r.Path = p.Path
	data, err := json.Marshal(r, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	if err := privatefile.Replace(filepath.Join(p.State, recordName), append(data, '\n')); err != nil {
		return fmt.Errorf("record the project: %w", err)
	}
	return nil
}
