package probes

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/store"
)

// The job that probes record.
const (
	jobID   = "audit1"
	journal = "journal.jsonl"
)

func someEvent(n int64, text string) event.Event {
	return event.Event{
		ID: "e" + string(rune('a'+n)), Timestamp: 1_700_000_000_000 + n, JobID: jobID, RunID: "run1", ExpertKey: "a", StepNumber: 1,
		Body: event.DefinitionChanged{Expert: "a", Before: "x", After: text},
	}
}

// record writes a job.
func record(ctx context.Context, s store.Store) error {
	j, err := s.Open(ctx, jobID)
	if err != nil {
		return err
	}
	for n := range int64(4) {
		if _, err := j.Append(ctx, someEvent(n, "first")); err != nil {
			return errors.Join(err, j.Close())
		}
	}
	return j.Close()
}

func key(fill byte) (k store.SealKey) { copy(k[:], bytes.Repeat([]byte{fill}, len(k))); return k }

// privateState attacks R3.
func (m *Machine) privateState(ctx context.Context) audit.Result {
	dir, err := m.dir("state")
	if err != nil {
		return noStart(err)
	}
	dir = filepath.Join(dir, "history")
	s := m.Parts.Store(dir, nil)
	if err := record(ctx, s); err != nil {
		return noStart(err)
	}
	if runtime.GOOS != "windows" {
		var open []string
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				open = append(open, info.Mode().String()+" "+d.Name())
			}
			return err
		})
		if err != nil {
			return noStart(err)
		}
		if len(open) > 0 {
			return audit.Break(audit.BuiltIn, "other users can use files of the history: %s", strings.Join(open, ", "))
		}
	}
	for _, id := range []string{"../x", "a/b", "..", "", "a\x00b", strings.Repeat("x", 300)} {
		if j, err := s.Open(ctx, id); err == nil {
			return audit.Break(audit.BuiltIn, "%q was taken for the id of a job (%v)", id, j.Close())
		}
	}
	secret := "sk-" + canary
	for _, text := range []string{"key: " + secret, "curl -H 'x-api-key: " + secret + "'", `{"k":"` + secret + `"}`} {
		if got := m.Parts.Redact("KEY", secret, text); strings.Contains(got, secret) || got == text {
			return audit.Break(audit.BuiltIn, "a key was not removed from %q", strings.ReplaceAll(got, secret, "the key"))
		}
	}
	return audit.Hold(audit.BuiltIn, "files of a history were private, 6 ids that are paths were refused, and a key was removed from 3 texts")
}

func redact(name, value, text string) string {
	var s secret.Set
	s.Add(name, value)
	return s.Redact(text)
}

// damage attacks R4.
func (m *Machine) damage(ctx context.Context) audit.Result {
	dir, err := m.dir("damage")
	if err != nil {
		return noStart(err)
	}
	dir = filepath.Join(dir, "history")
	s := m.Parts.Store(dir, nil)
	if err := record(ctx, s); err != nil {
		return noStart(err)
	}
	if _, err := store.Verify(ctx, s, jobID); err != nil {
		return noControl(err.Error())
	}
	path := filepath.Join(dir, "jobs", jobID, journal)
	whole, err := userfile.Read(path, 1<<20)
	if err != nil {
		return noStart(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for what, data := range map[string][]byte{
		"changed":         bytes.Replace(whole, []byte("first"), []byte("other"), 1),
		"removed":         slicesJoin(lines[0], lines[2:]...),
		"exchanged":       slicesJoin(lines[1], append([][]byte{lines[0]}, lines[2:]...)...),
		"cut off the end": slicesJoin(lines[0], lines[1]),
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return noStart(err)
		}
		if _, err := store.Verify(ctx, s, jobID); err == nil {
			return audit.Break(audit.BuiltIn, "a journal with a record that was %s is taken for whole", what)
		}
	}
	return audit.Hold(audit.BuiltIn, "a record that was changed, removed, exchanged or cut off was noticed")
}

func slicesJoin(first []byte, rest ...[]byte) []byte {
	return append(append([]byte{}, first...), bytes.Join(rest, nil)...)
}

// forgery attacks W1: a history that another key sealed, or none, is not continued.
func (m *Machine) forgery(ctx context.Context) audit.Result {
	ours := store.NewSealer("project", key(1))
	for name, other := range map[string]*store.Sealer{"nothing": nil, "another key": store.NewSealer("project", key(2)), "another project": store.NewSealer("other", key(1))} {
		dir, err := m.dir("seal")
		if err != nil {
			return noStart(err)
		}
		dir = filepath.Join(dir, "history")
		if err := record(ctx, m.Parts.Store(dir, other)); err != nil {
			return noStart(err)
		}
		j, err := m.Parts.Store(dir, ours).Open(ctx, jobID)
		if err == nil {
			return audit.Break(audit.BuiltIn, "a history that %s sealed can be continued (%v)", name, j.Close())
		}
	}
	dir, err := m.dir("seal")
	if err != nil {
		return noStart(err)
	}
	s := m.Parts.Store(filepath.Join(dir, "history"), ours)
	if err := record(ctx, s); err != nil {
		return noStart(err)
	}
	j, err := s.Open(ctx, jobID)
	if err != nil {
		return noControl("an honest history cannot be continued either")
	}
	if err := j.Close(); err != nil {
		return noStart(err)
	}
	return m.stateIsHidden(ctx, audit.Hold(audit.BuiltIn, "histories without a seal, with that of another key and of another project were refused"))
}

// sequences attacks T1.
func (m *Machine) sequences(context.Context) audit.Result {
	attempts := []string{"\x1b[2J", "\x1b]0;title\x07", "\x1b]52;c;aGk=\x07", "\u009b31m", "\x1bP+q\x1b\\", "\r", "\b\b\b", "\u202e", "\u2066", "\u200b", "\x7f", "\u0085"}
	for _, a := range attempts {
		if got := m.Parts.Clean("a" + a + "b"); strings.ContainsAny(got, "\x1b\a\r\b\x7f\u009b\u202e\u2066\u200b\u0085") {
			return audit.Break(audit.BuiltIn, "%q is printed as %q", a, got)
		}
	}
	if got := m.Parts.Clean("plain täxt\n\t日本"); got != "plain täxt\n\t日本" {
		return noControl("ordinary text is removed, too")
	}
	return audit.Hold(audit.BuiltIn, "%d sequences and marks were removed, and ordinary text was kept", len(attempts))
}
