package scopes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/opendir"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/userfile"
)

// FileName is the name of the file with bindings, in the state directory of the user.
const FileName = "registries.json"

// Bindings are what earlier runs of the user have used, in any project.
type Bindings struct {
	// Subjects are the addresses of registries, by scope, or by the name of an Expert without one.
	Subjects map[string]string
	// LogKeys are the keys of logs, by the address of the registry.
	LogKeys map[string]string
}

// A File holds bindings.
type File struct{ Path string }

// content is what is in the file.
type content struct {
	Version  int               `json:"version"`
	Subjects map[string]string `json:"subjects,omitempty"`
	LogKeys  map[string]string `json:"logKeys,omitempty"`
}

// The bounds of the file.
const (
	version     = 1
	maxFile     = 16 << 20
	maxBindings = 50_000
)

// Load reads the bindings; none if there is no file. A file that cannot be used is an error: without
// it, a project could say again where a scope is.
func (f File) Load() (Bindings, error) {
	data, err := userfile.ReadOwn(f.Path, maxFile)
	if userfile.Absent(err) {
		return Bindings{}, nil
	}
	var b Bindings
	if err == nil {
		b, err = parse(data)
	}
	if err != nil {
		return Bindings{}, fmt.Errorf("read which registries were used, in %s: %w; restore it, or move it away to start over", f.Path, err)
	}
	return b, nil
}

func parse(data []byte) (Bindings, error) {
	var c content
	if err := json.Unmarshal(data, &c, json.RejectUnknownMembers(true)); err != nil {
		return Bindings{}, err
	}
	if c.Version != version {
		return Bindings{}, fmt.Errorf("it has version %d, and this program reads version %d", c.Version, version)
	}
	if len(c.Subjects)+len(c.LogKeys) > maxBindings {
		return Bindings{}, fmt.Errorf("it has more than %d entries", maxBindings)
	}
	for subject, url := range c.Subjects {
		// A scope has the form of a name with something behind it.
		if !expert.ValidName(subject) && !expert.ValidName(subject+"/x") || url == "" || netaddr.NormalURL(url) != url {
			return Bindings{}, fmt.Errorf("%q is not bound to the address of a registry", subject)
		}
	}
	for url, key := range c.LogKeys {
		if _, err := note.NewVerifier(key); err != nil || netaddr.NormalURL(url) != url {
			return Bindings{}, fmt.Errorf("the key for %q is not that of a log", url)
		}
	}
	return Bindings{c.Subjects, c.LogKeys}, nil
}

// patience is how long a process waits for another one that changes the file.
const patience = 5 * time.Second

// Bind records that an Expert was fetched as decided, and checked with the key of the log; empty for a
// registry without a log. It is called when everything was verified, and fails if another process has
// bound something else meanwhile. replaced reports whether a key is one that the log had earlier, and has replaced;
// it can be nil.
func (f File) Bind(ctx context.Context, d Decision, logKey string, replaced func(key string) bool) error {
	if expert.IsOCI(d.Subject) {
		return nil // a reference names its registry
	}
	if logKey != "" {
		if _, err := note.NewVerifier(logKey); err != nil {
			return fmt.Errorf("bind %s: %w", d.Subject, err)
		}
	}
	if known, err := f.Load(); err != nil || known.has(d, logKey) {
		return err // nothing is written for nothing
	}
	return f.change(ctx, func(b *Bindings) error {
		if was := b.Subjects[d.Subject]; was != "" && was != d.Registry.URL && d.From != User {
			return &ConflictError{d.Subject, was, d.Registry.URL, "an earlier run"}
		}
		// A registry that had a log and has none now is refused as well.
		if was := b.LogKeys[d.Registry.URL]; was != "" && logKey != was && (replaced == nil || !replaced(was)) && (d.KeyFrom != User || logKey != d.Registry.LogKey) {
			return &ConflictError{"the key of the log of " + d.Registry.URL, was, logKey, "an earlier run"}
		}
		b.Subjects = with(b.Subjects, d.Subject, d.Registry.URL)
		if logKey != "" {
			b.LogKeys = with(b.LogKeys, d.Registry.URL, logKey)
		}
		return nil
	})
}

func (b Bindings) has(d Decision, logKey string) bool {
	return b.Subjects[d.Subject] == d.Registry.URL && b.LogKeys[d.Registry.URL] == logKey
}

func with(all map[string]string, key, value string) map[string]string {
	if all == nil {
		all = make(map[string]string)
	}
	all[key] = value
	return all
}

// change replaces the bindings. Of two processes, none loses what the other binds.
func (f File) change(ctx context.Context, to func(*Bindings) error) error {
	fail := func(err error) error { return fmt.Errorf("record which registries are used, in %s: %w", f.Path, err) }
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return fail(err)
	}
	dir, err := opendir.Open(filepath.Dir(f.Path))
	if err != nil {
		return fail(err)
	}
	defer dir.Close()
	lock, err := dir.Update(filepath.Base(f.Path)+".lock", 0o600)
	if err != nil {
		return fail(err)
	}
	defer lock.Close() // which releases it
	if err := take(ctx, lock); err != nil {
		return fail(err)
	}
	b, err := f.Load()
	if err != nil {
		return err
	}
	if err := to(&b); err != nil {
		return err
	}
	data, err := json.Marshal(content{version, b.Subjects, b.LogKeys}, json.Deterministic(true), jsontext.WithIndent("  "))
	if err == nil {
		_, err = parse(data)
	}
	if err == nil {
		err = privatefile.Replace(f.Path, append(data, '\n'))
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// take waits for the lock.
func take(ctx context.Context, f *os.File) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := filelock.Wait(ctx, f)
	if ctx.Err() != nil {
		return errors.New("another process changes it, and does not end")
	}
	return err
}
