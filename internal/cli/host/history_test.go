package host

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/state"
)

// A user names the directory of the history, or each project has one outside of it.
func TestHistory(t *testing.T) {
	home, dir, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "perstack.toml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	environ := []string{"LocalAppData=" + home} // which decides on Windows
	root, err := state.Find(runtime.GOOS, home, (&Host{Environ: environ}).Getenv)
	if err != nil {
		t.Fatal(err)
	}
	own := func(dir string) string {
		p, err := root.Project(dir)
		if err != nil {
			t.Fatal(err)
		}
		return p.State
	}
	for _, tt := range []struct{ name, dir, flag, env, config, want string }{
		{name: "that of the project", dir: dir, want: own(dir)},
		{name: "from below", dir: sub, want: own(dir)},
		{name: "of a file that was named", dir: elsewhere, config: filepath.Join(dir, "perstack.toml"), want: own(dir)},
		{name: "without a file", dir: elsewhere, want: own(elsewhere)},
		{name: "by a variable", dir: dir, env: "history", want: filepath.Join(dir, "history")},
		{name: "by a variable, elsewhere", dir: dir, env: elsewhere, want: elsewhere},
		{name: "by a flag", dir: dir, flag: "flag", env: elsewhere, want: filepath.Join(dir, "flag")},
	} {
		h := &Host{Dir: tt.dir, Home: home, Environ: append(environ, "PERSTACK_STORAGE_PATH="+tt.env)}
		got, err := h.History(tt.flag, tt.config, tt.dir)
		if err != nil || got.Dir != tt.want || got.Chosen != (tt.flag != "" || tt.env != "") {
			t.Errorf("%s: %+v, %v, want %s", tt.name, got, err, tt.want)
		}
		if hidden := got.Hidden(); !slices.Contains(hidden, string(root)) || got.Chosen && !slices.Contains(hidden, tt.want) {
			t.Errorf("%s: %q is hidden", tt.name, hidden)
		}
	}
}

// A history in the workspace that another run used is hidden, whatever this run uses.
func TestOtherHistories(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	used, gone, sub := filepath.Join(dir, "used"), filepath.Join(dir, "gone"), filepath.Join(dir, "sub")
	for _, path := range []string{used, gone, sub} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at := func(cwd, storage, workspace string) History {
		h := &Host{Dir: cwd, Home: home, Environ: []string{"LocalAppData=" + home}}
		history, err := h.History(storage, "", workspace)
		if err != nil {
			t.Fatal(err)
		}
		return history
	}
	for _, storage := range []string{used, gone, t.TempDir(), dir} {
		if err := at(sub, storage, sub).RecordStorage(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	jobs := filepath.Join(dir, "jobs")
	for _, tt := range []struct {
		name, cwd, storage, workspace string
		want                          []string
	}{
		{"another history", dir, "", dir, []string{jobs, used}},
		{"from the history", used, "", dir, []string{jobs, used}},
		{"the same history", dir, "used", dir, []string{jobs}},
		{"a smaller workspace", dir, "", sub, nil},
	} {
		history := at(tt.cwd, tt.storage, tt.workspace)
		slices.Sort(history.others)
		if !slices.Equal(history.others, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, history.others, tt.want)
		}
		for _, dir := range tt.want {
			if !slices.Contains(history.Hidden(), dir) {
				t.Errorf("%s: %s is not hidden", tt.name, dir)
			}
		}
	}
	if err := at(dir, "", dir).RecordStorage(); err != nil {
		t.Error(err)
	}
	if got := at(sub, "", dir).others; len(got) != 2 {
		t.Errorf("a history that was not chosen is recorded: %q", got)
	}
}

// What cannot hold a history is refused before anything is done.
func TestHistoryRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		h            *Host
		flag, config string
		want         string
	}{
		"no home": {&Host{Dir: dir}, "", "", "--storage"},
		"a file":  {&Host{Dir: dir, Home: dir}, file, "", "is not a directory"},
	} {
		if name == "no home" && runtime.GOOS == "windows" {
			continue
		}
		if _, err := tt.h.History(tt.flag, tt.config, dir); err == nil || ExitCode(err) != ExitUsage || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (&Host{Dir: dir}).History("storage", "", dir); err != nil {
		t.Errorf("without a home, but with a directory: %v", err)
	}
}

// Only a directory "perstack" with jobs in it is the history of an older version. A link that
// came with a repository cannot have the workspace itself hidden.
func TestOldHistory(t *testing.T) {
	for _, tt := range []struct {
		name, file, target string
		old                bool
	}{
		{name: "none"},
		{name: "an ordinary directory", file: "perstack/main.go"},
		{name: "jobs of something else", file: "perstack/jobs/nightly/run.sh"},
		{name: "a job", file: "perstack/jobs/j/journal.jsonl", old: true},
		{name: "a link to one", file: "data/jobs/j/job.json", target: "data", old: true},
		{name: "a link to the workspace", file: "jobs/j/job.json", target: "."},
		{name: "a link to what is around it", file: "../jobs/j/job.json", target: ".."},
	} {
		dir := filepath.Join(t.TempDir(), "workspace")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if tt.file != "" {
			path := filepath.Join(dir, tt.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if tt.target != "" {
			if err := os.Symlink(tt.target, filepath.Join(dir, "perstack")); err != nil {
				t.Skip(err)
			}
		}
		want := ""
		if tt.old {
			want = filepath.Join(dir, "perstack")
		}
		if got := (History{Dir: t.TempDir()}).OldHistory(dir); got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
}
