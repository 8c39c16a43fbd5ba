package inputs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/secret"
)

func file(t *testing.T) File {
	return File{Path: filepath.Join(t.TempDir(), "state", "inputs.jsonl")}
}

// add adds inputs, and returns what is kept then.
func add(t *testing.T, f File, texts ...string) []string {
	t.Helper()
	for _, text := range texts {
		if err := f.Add(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
	inputs, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	return inputs
}

func TestAdd(t *testing.T) {
	f := file(t)
	if got := add(t, f); got != nil {
		t.Errorf("%q before anything was added", got)
	}
	want := []string{"one", "two\nlines\t\u2028", "one", "\"quoted\" <b> \x1b[2J", "bytes\ufffd"}
	got := add(t, f, "one", "one", " \n", "two\nlines\t\u2028", "one", strings.Repeat("x", maxEntry+1), "\"quoted\" <b> \x1b[2J", "bytes\xff")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := add(t, File{}, "nowhere"); got != nil {
		t.Errorf("%q without a file", got)
	}
}

func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	f := file(t)
	f.Secrets = &secret.Set{}
	f.Secrets.Add("API_KEY", "sk-very-secret-1234")
	if diff := cmp.Diff([]string{"use [redacted: API_KEY] here"}, add(t, f, "use sk-very-secret-1234 here")); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]os.FileMode{f.Path: 0o600, f.Path + ".lock": 0o600, filepath.Dir(f.Path): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// The newest inputs are kept: so many, and so many bytes.
func TestBounds(t *testing.T) {
	f := file(t)
	var many []string
	for i := range maxEntries + 10 {
		many = append(many, fmt.Sprint("input ", i))
	}
	data, err := encode(many)
	if err != nil || os.MkdirAll(filepath.Dir(f.Path), 0o700) != nil || os.WriteFile(f.Path, data, 0o600) != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(many[11:], "last"), add(t, f, "last")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var long []string
	for i := range 200 {
		long = append(long, fmt.Sprint(i, strings.Repeat("\x01", maxEntry/2)))
	}
	data, err = encode(long)
	if err != nil || len(data) > maxFile || len(data) < maxFile/2 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	if got := parse(string(data)); len(got) == 0 || got[len(got)-1] != long[199] {
		t.Errorf("%d inputs", len(got))
	}
}

// What another program wrote does no harm.
func TestBroken(t *testing.T) {
	good := `{"text":"good"}` + "\n"
	for name, tt := range map[string]struct {
		content string
		want    []string
	}{
		"empty":     {"", nil},
		"broken":    {"not JSON\n" + good + `{"text":"cut`, []string{"good"}},
		"unknown":   {`{"text":"a","more":1}` + "\n" + good, []string{"good"}},
		"wrong":     {`{"text":5}` + "\n[]\nnull\n\"x\"\n" + good, []string{"good"}},
		"twice":     {`{"text":"a","text":"b"}` + "\n" + good, []string{"good"}},
		"not UTF-8": {"{\"text\":\"\xff\"}\n" + good, []string{"good"}},
		"too long":  {`{"text":"` + strings.Repeat("x", maxEntry+1) + "\"}\n" + good, []string{"good"}},
		"no end":    {strings.TrimSuffix(good, "\n"), []string{"good"}},
		"NUL":       {strings.Repeat("\x00", 100) + "\n" + good, []string{"good"}},
	} {
		f := file(t)
		if err := errors.Join(os.MkdirAll(filepath.Dir(f.Path), 0o700), os.WriteFile(f.Path, []byte(tt.content), 0o600)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, add(t, f)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(append(tt.want, "new"), add(t, f, "new")); diff != "" {
			t.Errorf("%s, with another (-want +got):\n%s", name, diff)
		}
	}
}

// A file that is not the user's, or not a file, is an error that names it, and stays as it is.
func TestRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	for name, make := range map[string]func(path string) error{
		"others can write": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o666)) },
		"a directory":      func(path string) error { return os.Mkdir(path, 0o700) },
		"too large":        func(path string) error { return os.WriteFile(path, []byte(strings.Repeat("\n", maxFile+1)), 0o600) },
	} {
		f := file(t)
		if err := errors.Join(os.MkdirAll(filepath.Dir(f.Path), 0o700), make(f.Path)); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Stat(f.Path)
		_, err := f.Load()
		if err == nil || !strings.Contains(err.Error(), f.Path) {
			t.Errorf("%s: %v", name, err)
		}
		if err := f.Add(t.Context(), "x"); err == nil {
			t.Errorf("%s: an input was added", name)
		}
		if after, err := os.Stat(f.Path); err != nil || !os.SameFile(before, after) || before.Size() != after.Size() {
			t.Errorf("%s: the file was replaced: %v", name, err)
		}
	}
}

// Several sessions add to one file, and no input is lost.
func TestSessions(t *testing.T) {
	f := file(t)
	var all sync.WaitGroup
	for session := range 4 {
		all.Go(func() {
			for i := range 10 {
				if err := f.Add(t.Context(), fmt.Sprint(session, " ", i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := add(t, f); len(got) != 40 {
		t.Errorf("%d inputs of 40", len(got))
	}
	entries, err := os.ReadDir(filepath.Dir(f.Path))
	if err != nil || len(entries) != 2 {
		t.Errorf("%v is left, %v", entries, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"text":"a"}` + "\n" + `{"text":"b\n"}`)
	f.Add("\x00{\"text\":\"\xff\"}")
	f.Fuzz(func(t *testing.T, text string) {
		inputs := parse(text)
		data, err := encode(inputs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(inputs, parse(string(data))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
