package credentials

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/internal/opendir"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
)

// A File is the login file. It is made at the first login.
type File struct{ Path string }

// Logins are all logins of the user. Those for providers and runtimes are kept by their names.
type Logins struct {
	Registries map[string]Entry // by origin
	Providers  map[string]Entry
	Runtimes   map[string]Entry
}

// content is what is in the file.
type content struct {
	Version    int              `json:"version"`
	Registries map[string]Entry `json:"registries,omitempty"`
	Providers  map[string]Entry `json:"providers,omitempty"`
	Runtimes   map[string]Entry `json:"runtimes,omitempty"`
}

// The bounds of the file.
const (
	version    = 1
	maxFile    = 1 << 20
	maxLogins  = 1000
	maxKey     = 8 << 10 // more than any server accepts in a header
	maxName    = 255
	maxAccount = 255
)

// Hide tells of all keys.
func (l Logins) Hide(to Secrets) {
	for _, part := range []map[string]Entry{l.Registries, l.Providers, l.Runtimes} {
		for _, name := range slices.Sorted(maps.Keys(part)) {
			if key := part[name].Key; key != "" {
				to.AddKey(secretName(name), key)
			}
		}
	}
}

// Load reads the file; there are no logins without one. It is refused if its keys may be known to
// others, or if it can have been put there by others.
func (f File) Load() (Logins, error) {
	data, err := f.read()
	if userfile.Absent(err) {
		return Logins{}, nil
	}
	if err != nil {
		return Logins{}, fmt.Errorf("the logins in %s are not used: %w", f.Path, err)
	}
	logins, err := parse(data)
	if err != nil {
		return Logins{}, fmt.Errorf("the logins in %s are not used: %w; move the file away, and log in again", f.Path, err)
	}
	return logins, nil
}

// read reads the file through its open directory, so that what is checked is what is read.
func (f File) read() ([]byte, error) {
	dir, err := opendir.Open(filepath.Dir(f.Path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name := filepath.Base(f.Path)
	info, err := dir.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Kind == opendir.Link:
		return nil, errors.New("the file is a link; replace it with the file itself")
	case info.Kind != opendir.File:
		return nil, userfile.ErrNotRegular
	}
	opened, err := dir.Read(name)
	if err != nil {
		return nil, err
	}
	defer opened.Close()
	if err := f.private(opened); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(opened, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("the file is larger than %d MiB", maxFile>>20)
	}
	return data, err
}

// private returns an error if another user can have read or written the file.
func (f File) private(opened *os.File) error {
	info, err := opened.Stat()
	if err != nil {
		return err
	}
	if userfile.Foreign(opened) {
		return errors.New("the file belongs to another user; move it away")
	}
	if runtime.GOOS == "windows" {
		return nil // modes say nothing there
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the file is open to other users, who may have read it; get new keys, or run: chmod 600 %s", terminal.ShellJoin(f.Path))
	}
	linked, err := opendir.StatFile(opened)
	switch {
	case err != nil:
		return err
	case linked.Names > 1:
		return errors.New("the file has a second name, a hard link; remove that")
	}
	if err := userfile.OwnDir(filepath.Dir(f.Path)); err != nil {
		return fmt.Errorf("%w; let only yourself use %s", err, filepath.Dir(f.Path))
	}
	return nil
}

// parse reads the content of the file. An error never repeats a part of it, which can be a key.
func parse(data []byte) (Logins, error) {
	var c content
	err := json.Unmarshal(data, &c, json.RejectUnknownMembers(true))
	switch {
	case err != nil:
		return Logins{}, errors.New(where(err))
	case c.Version != version:
		return Logins{}, fmt.Errorf("the file has version %d, and this program reads version %d", c.Version, version)
	case len(c.Registries)+len(c.Providers)+len(c.Runtimes) > maxLogins:
		return Logins{}, fmt.Errorf("the file has more than %d logins", maxLogins)
	}
	for origin := range c.Registries {
		if own, err := Origin(origin); err != nil || own != origin {
			return Logins{}, errors.New("a registry is not named by its scheme, host and port")
		}
	}
	for _, part := range []map[string]Entry{c.Registries, c.Providers, c.Runtimes} {
		for name, entry := range part {
			if name == "" || len(name) > maxName || !printable(name) {
				return Logins{}, errors.New("the name of a login is empty, too long or not printable")
			}
			if err := entry.check(); err != nil {
				return Logins{}, fmt.Errorf("login %q: %w", name, err)
			}
		}
	}
	return Logins{c.Registries, c.Providers, c.Runtimes}, nil
}

// where says what is wrong with JSON, without a word of it.
func where(err error) string {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		if errors.Is(err, json.ErrUnknownName) {
			return fmt.Sprintf("the file has a member that no login has, at byte %d", semantic.ByteOffset)
		}
		return fmt.Sprintf("the file has a value of the wrong kind at byte %d", semantic.ByteOffset)
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("the file is not JSON at byte %d", syntactic.ByteOffset)
	}
	return "the file is not JSON"
}

// check refuses entries that cannot be used.
func (e *Entry) check() error {
	switch {
	case len(e.Account) > maxAccount || !printable(e.Account):
		return errors.New("the account is too long or not printable")
	case e.Kind == KindKey && e.Helper == "":
		return checkKey(e.Key)
	case e.Kind == KindHelper && e.Key == "":
		return checkHelper(e.Helper)
	}
	return errors.New("it must have either a key or a helper, as its kind says")
}

// checkKey refuses what cannot be sent in a header.
func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("the key is empty")
	case len(key) > maxKey:
		return fmt.Errorf("the key has more than %d bytes", maxKey)
	case strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }):
		return errors.New("the key has a blank, a line break or a character that no key has; paste it again")
	}
	return nil
}

func printable(s string) bool { return terminal.CleanLine(s) == s }

// patience is how long a process waits for another one that changes the file.
const patience = 5 * time.Second

// change replaces the logins. Of two processes, none loses what the other stores.
func (f File) change(ctx context.Context, to func(*Logins) error) error {
	where := filepath.Dir(f.Path)
	fail := func(err error) error { return fmt.Errorf("change the logins in %s: %w", f.Path, err) }
	if err := os.MkdirAll(where, 0o700); err != nil {
		return fail(err)
	}
	if err := userfile.OwnDir(where); err != nil {
		return fail(err)
	}
	// The directory can be older than the first login, and open to readers.
	if runtime.GOOS != "windows" {
		if err := os.Chmod(where, 0o700); err != nil {
			return fail(err)
		}
	}
	dir, err := opendir.Open(where)
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
	logins, err := f.Load()
	if err != nil {
		return err
	}
	if err := to(&logins); err != nil {
		return err
	}
	data, err := json.Marshal(content{version, logins.Registries, logins.Providers, logins.Runtimes}, json.Deterministic(true), jsontext.WithIndent("  "))
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
		return errors.New("another process changes them, and does not end")
	}
	return err
}
