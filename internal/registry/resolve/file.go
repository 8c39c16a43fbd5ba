package resolve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/internal/opendir"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/userfile"
)

// FileName is the name of the file with pins, in the state directory of a project.
const FileName = "published.json"

// A File has what keys meant when a project used them: the user has allowed these Experts.
type File struct{ Path string }

// content is what is in the file.
type content struct {
	Version int            `json:"version"`
	Pins    map[string]Pin `json:"pins,omitempty"` // by the key that was asked for
}

// The bounds of the file.
const (
	version = 1
	maxFile = 4 << 20
	maxPins = 5_000
)

// Load reads the pins; none if there is no file. A file that cannot be used is an error: without it, a
// key could mean something else.
func (f File) Load() (map[string]Pin, error) {
	if f.Path == "" {
		return nil, nil
	}
	data, err := userfile.ReadOwn(f.Path, maxFile)
	if userfile.Absent(err) {
		return nil, nil
	}
	var pins map[string]Pin
	if err == nil {
		pins, err = parse(data)
	}
	if err != nil {
		return nil, fmt.Errorf("read which published Experts were used, in %s: %w; restore it, or move it away to resolve them again", f.Path, err)
	}
	return pins, nil
}

func parse(data []byte) (map[string]Pin, error) {
	var c content
	if err := json.Unmarshal(data, &c, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if c.Version != version {
		return nil, fmt.Errorf("it has version %d, and this program reads version %d", c.Version, version)
	}
	if len(c.Pins) > maxPins {
		return nil, fmt.Errorf("it has more than %d entries", maxPins)
	}
	for key, p := range c.Pins {
		if !p.fits(key) || p.Registry == "" {
			return nil, fmt.Errorf("%q is not pinned to a version", key)
		}
	}
	return c.Pins, nil
}

// patience is how long a process waits for another one that changes the file.
const patience = 5 * time.Second

// Add records what keys mean now. Nothing is written if that is known.
func (f File) Add(ctx context.Context, pins map[string]Pin) error {
	known, err := f.Load()
	if err != nil || f.Path == "" || contains(known, pins) {
		return err
	}
	if err := f.add(ctx, pins); err != nil {
		return fmt.Errorf("record which published Experts are used, in %s: %w", f.Path, err)
	}
	return nil
}

func contains(all, some map[string]Pin) bool {
	for key, p := range some {
		if all[key] != p {
			return false
		}
	}
	return true
}

func (f File) add(ctx context.Context, pins map[string]Pin) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	dir, err := opendir.Open(filepath.Dir(f.Path))
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := dir.Update(filepath.Base(f.Path)+".lock", 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // which releases it
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := filelock.Wait(waiting, lock); err != nil {
		if waiting.Err() != nil {
			return errors.New("another process changes it, and does not end")
		}
		return err
	}
	known, err := f.Load()
	if err != nil {
		return err
	}
	all := map[string]Pin{}
	maps.Copy(all, known)
	maps.Copy(all, pins)
	data, err := json.Marshal(content{version, all}, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	if _, err := parse(data); err != nil {
		return err
	}
	return privatefile.Replace(f.Path, append(data, '\n'))
}
