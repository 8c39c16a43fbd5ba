package packages

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/userfile"
)

// The index records what versions were resolved to, so that a skill with a pinned version
// starts without asking the registry, and one without asks little. A version is published
// once; its dependencies are frozen as they were when it was first resolved.

func (s *Store) recordPath(name, version string) string {
	return filepath.Join(s.root(), "index", hashOf(name+"@"+version))
}

// known returns what was resolved before, or nil. A record that is not valid is ignored.
func (s *Store) known(name, version string) *lockfile.Package {
	text, err := userfile.Read(s.recordPath(name, version), 2*maxTree)
	if err != nil {
		return nil
	}
	p := &lockfile.Package{Manager: manager}
	if json.Unmarshal(text, p, json.RejectUnknownMembers(true)) != nil || p.Name != name || p.Version != version {
		return nil
	}
	if _, err := lockedTree(p); err != nil {
		return nil
	}
	return p
}

func (s *Store) remember(p *lockfile.Package) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	path := s.recordPath(p.Name, p.Version)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return writeWhole(path, text)
}

// writeWhole writes a file of an index in one step: a reader sees the old or the new one.
func writeWhole(path string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(filepath.Dir(path)), scratchPrefix)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
