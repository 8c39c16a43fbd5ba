// Package grants keeps the answers of the user that hold longer than one job: for a project, in its
// state directory, or always, beside the user's own configuration.
//
// A grant names the Expert that calls, so that no delegate inherits it, the skill, the tool, and the
// exact arguments. A wider one names a program and its subcommand instead. Grants answer questions:
// what a rule denies stays denied. The files belong to the user, and a file that others can write to
// is refused. Start reading at [File.Load] and [Covers].
package grants

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/filelock"
	"github.com/perstack-go/perstack/internal/opendir"
	"github.com/perstack-go/perstack/internal/privatefile"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/rawjson"
)

// FileName is the name of a file with grants.
const FileName = "grants.toml"

// A File holds grants. Its directory is made when the first one is added.
type File struct{ Path string }

// A Grant is an answer that is kept. It has Args, Command, Host or Path.
type Grant struct {
	ID     string    `json:"id"`
	Expert string    `json:"expert"` // key
	Skill  string    `json:"skill"`
	Tool   string    `json:"tool,omitzero"`
	Args   string    `json:"args,omitzero"`   // the exact arguments, as canonical JSON
	When   time.Time `json:"when"`            // it was given
	Job    string    `json:"job"`             // that asked
	Digest string    `json:"digest,omitzero"` // of the call, for one that runs what its arguments do not show
	// Command is a program, its subcommand and **, which stands for any words.
	Command []string `json:"command,omitempty"`
	// Host and Path are outside of the sandbox. A grant for one of them is for no call.
	Host string `json:"host,omitzero"` // host:port
	Path string `json:"path,omitzero"`
}

// A Call is a tool call that would be asked about.
type Call struct {
	Expert, Skill, Tool string
	Args                rawjson.Value
	Command             []string // of exec
	Env                 []string // names of the variables that it sets
	// Opaque says that the arguments do not show what the call does. Digest then identifies that.
	Opaque bool
	Digest func() string
	// Host or Path is what the skill wants to use outside of the sandbox; empty for the call itself.
	Host, Path string
}

// New returns the grant for a call. With wide, it is for the program and the subcommand. ok is false
// if that cannot be granted.
func New(c Call, wide bool) (g Grant, ok bool) {
	g = Grant{Expert: c.Expert, Skill: c.Skill, Tool: c.Tool, Host: c.Host, Path: c.Path}
	switch {
	case c.leaves():
		g.Tool, ok = "", !wide
	case wide:
		g.Command, ok = Wider(c)
	case c.Opaque:
		g.Args, ok = canonical(c.Args)
		g.Digest = c.Digest()
	default:
		g.Args, ok = canonical(c.Args)
	}
	return g, ok
}

func (c *Call) leaves() bool { return c.Host != "" || c.Path != "" }

// everything stands for any words at the end of a command.
const everything = "**"

// subcommand is a word that chooses what a program does, and is neither an option nor a file.
var subcommand = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_:-]*$`) })

// Wider returns the command that can be granted instead of exact arguments: a program, its
// subcommand and any words. There is none for a program that runs others, lies in the workspace or
// gets variables.
func Wider(c Call) ([]string, bool) {
	if c.leaves() || c.Opaque || len(c.Env) > 0 || len(c.Command) < 2 || !isProgram(c.Command[0]) || !subcommand().MatchString(c.Command[1]) {
		return nil, false
	}
	return []string{c.Command[0], c.Command[1], everything}, true
}

// isProgram reports whether a word is the plain name of a program: no path, and no pattern.
func isProgram(word string) bool { return word != "" && !strings.ContainsAny(word, `*/\`) }

// Covers returns the first grant that covers a call.
func Covers(all []Grant, c Call) (Grant, bool) {
	args, valid := canonical(c.Args)
	i := slices.IndexFunc(all, func(g Grant) bool {
		switch {
		case g.Expert != c.Expert || g.Skill != c.Skill || g.Host != c.Host || g.Path != c.Path:
			return false
		case c.leaves():
			return true
		case g.Tool != c.Tool:
			return false
		case len(g.Command) > 0:
			command, ok := Wider(c)
			return ok && slices.Equal(command, g.Command)
		}
		return valid && g.Args == args && (!c.Opaque || g.Digest != "" && g.Digest == c.Digest())
	})
	if i < 0 {
		return Grant{}, false
	}
	return all[i], true
}

// canonical returns arguments in the one form in which they are compared.
func canonical(args rawjson.Value) (string, bool) {
	v := jsontext.Value(args).Clone()
	if v.Canonicalize() != nil {
		return "", false
	}
	return string(v), true
}

// The bounds of a file.
const (
	maxGrants = 1000
	maxFile   = 1 << 20
)

// Load reads the grants; none if there is no file.
func (f File) Load() ([]Grant, error) {
	data, err := userfile.ReadOwn(f.Path, maxFile)
	if userfile.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the grants in %s cannot be used: %w", f.Path, err)
	}
	all, problems := parse(f.Path, data)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return all, nil
}

// Add stores a grant, and returns it with its id. One that is there already is not stored again.
func (f File) Add(ctx context.Context, g Grant) (Grant, error) {
	g.ID, g.When = newID(), g.When.UTC().Truncate(time.Second)
	if err := g.check(); err != nil {
		return Grant{}, err
	}
	err := f.change(ctx, func(all []Grant) ([]Grant, error) {
		i := slices.IndexFunc(all, func(other Grant) bool {
			return other.Expert == g.Expert && other.Skill == g.Skill && other.Tool == g.Tool && other.Args == g.Args && other.Digest == g.Digest && other.Host == g.Host && other.Path == g.Path && slices.Equal(other.Command, g.Command)
		})
		if i >= 0 {
			g = all[i]
			return all, nil
		}
		if len(all) == maxGrants {
			return nil, fmt.Errorf("%s has %d grants already; revoke some", f.Path, maxGrants)
		}
		return append(all, g), nil
	})
	return g, err
}

// Revoke removes a grant, and reports whether it was there.
func (f File) Revoke(ctx context.Context, id string) (found bool, err error) {
	if all, err := f.Load(); err != nil || !slices.ContainsFunc(all, func(g Grant) bool { return g.ID == id }) {
		return false, err // no lock file is made for nothing
	}
	err = f.change(ctx, func(all []Grant) ([]Grant, error) {
		n := len(all)
		all = slices.DeleteFunc(all, func(g Grant) bool { return g.ID == id })
		found = len(all) < n
		return all, nil
	})
	return found, err
}

// patience is how long a process waits for another one that changes the file.
const patience = 5 * time.Second

// change replaces the grants. Of two processes, none loses what the other adds.
func (f File) change(ctx context.Context, to func([]Grant) ([]Grant, error)) error {
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return fmt.Errorf("change the grants: %w", err)
	}
	dir, err := opendir.Open(filepath.Dir(f.Path))
	if err != nil {
		return fmt.Errorf("change the grants: %w", err)
	}
	defer dir.Close()
	lock, err := dir.Update(filepath.Base(f.Path)+".lock", 0o600)
	if err != nil {
		return fmt.Errorf("change the grants: %w", err)
	}
	defer lock.Close() // which releases it
	if err := take(ctx, lock); err != nil {
		return fmt.Errorf("change the grants in %s: %w", f.Path, err)
	}
	all, err := f.Load()
	if err != nil {
		return err
	}
	if all, err = to(all); err != nil {
		return err
	}
	text := encode(all)
	if len(text) > maxFile {
		return fmt.Errorf("%s would be larger than %d MiB; revoke some grants", f.Path, maxFile>>20)
	}
	_, problems := parse(f.Path, text)
	if err := problems.Err(); err != nil {
		return fmt.Errorf("the grant cannot be written: %w", err)
	}
	if err := privatefile.Replace(f.Path, text); err != nil {
		return fmt.Errorf("change the grants: %w", err)
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

func newID() string {
	var random [5]byte
	rand.Read(random[:]) // never fails
	return strings.ToLower(base32.StdEncoding.EncodeToString(random[:]))
}
