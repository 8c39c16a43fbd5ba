package protect

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/userfile"
)

// A world is a workspace and a state directory.
type world struct {
	*testing.T
	dir   string // the workspace
	state state.Dir
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, filepath.Join(dir, "ws"), state.Dir(filepath.Join(dir, "state"))}
}

func (w *world) at(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *world) check(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) write(name, text string) {
	w.Helper()
	w.check(os.MkdirAll(filepath.Dir(w.at(name)), 0o700))
	w.check(os.WriteFile(w.at(name), []byte(text), 0o600))
}

func (w *world) link(target, name string) {
	w.Helper()
	w.check(os.MkdirAll(filepath.Dir(w.at(name)), 0o700))
	w.check(os.RemoveAll(w.at(name)))
	w.check(os.Symlink(target, w.at(name)))
}

func (w *world) begin(job string, trusted ...string) *Watch {
	w.Helper()
	w.check(os.MkdirAll(w.dir, 0o700))
	project, err := w.state.Project(w.dir)
	w.check(err)
	for i, name := range trusted {
		trusted[i] = w.at(name)
	}
	r, err := Begin(w.Context(), Options{State: project.State, Workspace: w.dir, Job: job, Trusted: trusted, Now: time.Now()})
	w.check(err)
	return r
}

func (w *world) end(r *Watch) Report {
	w.Helper()
	report, err := r.End(w.Context(), time.Now())
	w.check(err)
	return report
}

func (w *world) open() *Marks {
	w.Helper()
	r, err := Open(w.Context(), w.state, time.Now)
	w.check(err)
	return r
}

// kill makes the record that of a process that has ended, as kill -9 does.
func (w *world) kill(r *Watch) {
	w.Helper()
	r.data.Owner = strings.Replace(r.data.Owner, fmt.Sprintf("_%d_", os.Getpid()), "_4194304_", 1)
	w.check(r.data.save(r.path))
}

// text describes marks: "changed .env, appeared a/perstack.toml".
func (w *world) text(marks []Mark) string {
	var all []string
	for _, m := range marks {
		rest, err := filepath.Rel(w.dir, m.Path)
		w.check(err)
		all = append(all, string(m.Change)+" "+filepath.ToSlash(rest))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// refused describes why a file is not read.
func (w *world) refused(name string) string {
	w.Helper()
	c, err := w.open().Check(w.at(name))
	w.check(err)
	var marks []Mark
	for _, r := range c.Refusals {
		marks = append(marks, r.Mark)
	}
	return w.text(marks)
}

const allRemoved = "all is removed"

// accept accepts a file as it is now.
func (w *world) accept(path string) {
	w.Helper()
	marks := w.open()
	c, err := marks.Check(path)
	w.check(err)
	w.check(marks.Accept(c))
}

func TestMarks(t *testing.T) {
	for _, c := range []struct {
		name    string
		trusted string
		before  func(*world)
		job     func(*world)
		want    string
	}{
		{"nothing", "", func(w *world) { w.write(".env", "a") }, func(w *world) { w.write("x", "a") }, ""},
		{"the same again", "", func(w *world) { w.write(".env", "a") }, func(w *world) { w.write(".env", "b"); w.write(".env", "a") }, ""},
		{"changed", "", func(w *world) { w.write(".env", "a") }, func(w *world) { w.write(".env", "b") }, "changed .env"},
		{"changed, of the same size and times", "", func(w *world) { w.write(".env", "a") }, func(w *world) {
			info, err := os.Stat(w.at(".env"))
			w.check(err)
			w.write(".env", "b")
			w.check(os.Chtimes(w.at(".env"), info.ModTime(), info.ModTime()))
		}, "changed .env"},
		{"replaced", "", func(w *world) { w.write(".env", "a") }, func(w *world) { w.write("x", "b"); w.check(os.Rename(w.at("x"), w.at(".env"))) }, "changed .env"},
		{"removed", "", func(w *world) { w.write("perstack.lock", "a") }, func(w *world) { w.check(os.Remove(w.at("perstack.lock"))) }, "removed perstack.lock"},
		{"appeared", "", func(*world) {}, func(w *world) {
			w.write(".env.local", "")
			w.write("a/b/Perstack.Toml", "")
			w.write("node_modules/p/perstack.lock", "")
			w.write(".env.example", "")
		}, "appeared .env.local, appeared a/b/Perstack.Toml, appeared node_modules/p/perstack.lock"},
		{"moved with its directory", "", func(w *world) { w.write("a/.env", "a") }, func(w *world) { w.check(os.Rename(w.at("a"), w.at("b"))) }, "appeared b/.env, removed a/.env"},
		{"a file of any name", "conf/keys", func(*world) {}, func(w *world) { w.write("conf/keys", "") }, "appeared conf/keys"},
		{"a file elsewhere", "../keys", func(w *world) { w.write("../keys", "a") }, func(w *world) { w.write("../keys", "b") }, "changed ../keys"},
		{"a link that is replaced", "", func(w *world) { w.write("a", "a"); w.write("b", "b"); w.link("a", ".env") }, func(w *world) { w.link("b", ".env") }, "changed .env"},
		{"a link to the same content", "", func(w *world) { w.write("a", "a"); w.write("b", "a"); w.link("a", ".env") }, func(w *world) { w.link("b", ".env") }, "changed .env"},
		{"a link to a link", "", func(w *world) { w.write("a", "a"); w.link("a", "b"); w.link("b", ".env") }, func(w *world) { w.link("../ws/a", "b") }, "changed .env"},
		{"the target of a link", "", func(w *world) { w.write("conf/a", "a"); w.link("conf/a", ".env") }, func(w *world) { w.write("conf/a", "b") }, "changed .env"},
		{"a link instead of a file", "", func(w *world) { w.write(".env", "a"); w.write("a", "a") }, func(w *world) { w.link("a", ".env") }, "changed .env"},
		{"a file instead of a link", "", func(w *world) { w.write("a", "a"); w.link("a", ".env") }, func(w *world) { w.check(os.Remove(w.at(".env"))); w.write(".env", "a") }, "changed .env"},
		{"a link to nothing that leads somewhere", "", func(w *world) { w.link("a", ".env") }, func(w *world) { w.write("a", "") }, "changed .env"},
		{"a directory that becomes a link", "", func(w *world) { w.write("conf/perstack.toml", "a"); w.write("../evil/perstack.toml", "a") }, func(w *world) {
			w.check(os.RemoveAll(w.at("conf")))
			w.link("../evil", "conf")
		}, "changed conf/perstack.toml"},
		{"a link on the way to a named file", "conf/keys", func(w *world) { w.write("one/keys", "a"); w.write("two/keys", "a"); w.link("one", "conf") },
			func(w *world) { w.link("two", "conf") }, "changed conf/keys"},
		{"a directory of the name", "", func(w *world) { w.write(".env/x", "") }, func(w *world) { w.write(".env/y", "") }, ""},
		{"a directory instead of a file", "", func(w *world) { w.write("perstack.toml", "") }, func(w *world) {
			w.check(os.Remove(w.at("perstack.toml")))
			w.check(os.Mkdir(w.at("perstack.toml"), 0o700))
		}, "changed perstack.toml"},
		{"a name that is not UTF-8", "", func(*world) {}, func(w *world) { w.write("\xff/.env", "") }, "appeared \xff/.env"},
		{allRemoved, "", func(w *world) { w.write(".env", "") }, func(w *world) { w.check(os.RemoveAll(w.dir)) }, "removed .env"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, killed := range []bool{false, true} {
				if killed && c.name == allRemoved {
					continue // see TestMovedWorkspace
				}
				w := newWorld(t)
				w.check(os.MkdirAll(w.dir, 0o700))
				c.before(w)
				var trusted []string
				if c.trusted != "" {
					trusted = []string{c.trusted}
				}
				r := w.begin("job", trusted...)
				c.job(w)
				var marks []Mark
				if killed {
					w.kill(r)
					for _, report := range w.open().Reports {
						marks = append(marks, report.Marks...)
					}
				} else {
					marks = w.end(r).Marks
				}
				if got := w.text(marks); got != c.want {
					t.Fatalf("killed %t: %q, want %q", killed, got, c.want)
				}
				if again := w.open(); len(again.Reports) > 0 || len(again.All()) != len(marks) {
					t.Errorf("killed %t: then %v, %v", killed, again.Reports, again.All())
				}
				for _, m := range marks {
					if c, err := w.open().Check(m.Path); err != nil || len(c.Refusals) != 1 || c.Refusals[0].Job != "job" {
						t.Errorf("killed %t: %s is refused for %v, %v", killed, m.Path, c.Refusals, err)
					}
					w.accept(m.Path)
				}
				// Nothing is left of a record without marks.
				if left, err := filepath.Glob(filepath.Join(string(w.state), "projects", "*", dirName, "*")); err != nil || len(left) > 0 {
					t.Errorf("killed %t: %q, %v", killed, left, err)
				}
			}
		})
	}
}

// A mark stays until the file is accepted or as it was before, whatever it is called.
func TestMarkStays(t *testing.T) {
	w := newWorld(t)
	w.write("a/.env", "user")
	w.write("link/x", "")
	r := w.begin("job")
	w.write("a/.env", "job")
	w.end(r)
	w.write("a/.env", "job and user")
	if got := w.refused("a/.env"); got != "changed a/.env" {
		t.Errorf("after another change: %q", got)
	}
	w.link("../a", "link/to")
	if got := w.refused("link/to/.env"); got != "changed a/.env" {
		t.Errorf("by a link: %q", got)
	}
	w.link("../a/.env", "link/file")
	if got := w.refused("link/file"); got != "changed a/.env" {
		t.Errorf("by a link to the file: %q", got)
	}
	if got := w.refused("a/.env.local"); got != "" {
		t.Errorf("another file: %q", got)
	}
	w.write("a/.env", "user")
	if got := w.refused("a/.env"); got != "" {
		t.Errorf("as it was: %q", got)
	}
	w.write("a/.env", "user again")
	if got := w.refused("a/.env"); got != "" {
		t.Errorf("the user's own change: %q", got)
	}
}

// A directory that the user moves takes its marks with it.
func TestMarkOfMovedDirectory(t *testing.T) {
	w := newWorld(t)
	w.write("a/x", "")
	if look(w.at("a/x"), true, File{}).Stat.Inode == 0 {
		t.Skip("files have no identity here")
	}
	r := w.begin("job")
	w.write("a/.env", "job")
	w.end(r)
	w.check(os.Rename(w.at("a"), w.at("../b")))
	if got := w.refused("a/.env") + w.refused("../b/.env"); got != "appeared a/.env" {
		t.Errorf("moved: %q", got)
	}
	w.write("a/.env", "user")
	if got := w.refused("a/.env"); got != "" || len(w.open().All()) > 0 {
		t.Errorf("another file at the path: %q", got)
	}
	w.accept(w.at("../b/.env"))
	if got := w.refused("../b/.env"); got != "" {
		t.Errorf("accepted: %q", got)
	}
	// After a month it is forgotten.
	r = w.begin("job")
	w.write("c/.env", "job")
	w.end(r)
	w.check(os.Rename(w.at("c"), w.at("d")))
	for _, later := range []time.Duration{0, 31 * 24 * time.Hour} {
		if _, err := Open(t.Context(), w.state, func() time.Time { return time.Now().Add(later) }); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.refused("d/.env"); got != "" || len(w.open().records) > 0 {
		t.Errorf("after a month: %q", got)
	}
}

// While a job runs, a file that it has changed is not read, and an accepted one is, until the
// job changes it again.
func TestRunningJob(t *testing.T) {
	w := newWorld(t)
	w.write("perstack.toml", "user")
	r := w.begin("job")
	if got := w.refused("perstack.toml") + w.refused(".env"); got != "" {
		t.Errorf("unchanged: %q", got)
	}
	w.write("perstack.toml", "job")
	w.write("sub/.env", "job")
	if got := w.refused("perstack.toml") + ", " + w.refused("sub/.env"); got != "changed perstack.toml, appeared sub/.env" {
		t.Errorf("changed: %q", got)
	}
	w.accept(w.at("perstack.toml"))
	if got := w.refused("perstack.toml"); got != "" {
		t.Errorf("accepted: %q", got)
	}
	w.write("perstack.toml", "job again")
	if got := w.refused("perstack.toml"); got != "changed perstack.toml" {
		t.Errorf("changed again: %q", got)
	}
	w.write("perstack.toml", "job")
	if got := w.text(w.end(r).Marks); got != "appeared sub/.env" {
		t.Errorf("at the end: %q", got)
	}
}

// A second job cannot make a mark of the first go away.
func TestTwoJobs(t *testing.T) {
	w := newWorld(t)
	w.write("x", "")
	first := w.begin("job")
	w.write("sub/.env", "job")
	w.end(first)
	second := w.begin("job") // as if it was continued
	w.check(os.Rename(w.at("sub/.env"), w.at("kept")))
	if got := w.refused("sub/.env"); got != "appeared sub/.env, removed sub/.env" {
		t.Errorf("moved away: %q", got)
	}
	w.check(os.Rename(w.at("kept"), w.at("sub/.env")))
	if got := w.text(w.end(second).Marks); got != "" {
		t.Errorf("the second: %q", got)
	}
	if got := w.refused("sub/.env"); got != "appeared sub/.env" {
		t.Errorf("after both: %q", got)
	}
}

// A record that was removed, or its directory, is written again at the end.
func TestRemovedRecord(t *testing.T) {
	w := newWorld(t)
	w.write(".env", "user")
	r := w.begin("job")
	w.write(".env", "job")
	w.check(os.RemoveAll(string(w.state)))
	if got := w.text(w.end(r).Marks); got != "changed .env" {
		t.Errorf("%q", got)
	}
	if got := w.refused(".env"); got != "changed .env" {
		t.Errorf("then %q", got)
	}
}

// If a record cannot be closed or read, nothing in its workspace is read, until it can be.
func TestProblems(t *testing.T) {
	w := newWorld(t)
	w.write(".env", "user")
	r := w.begin("job")
	w.kill(r)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	records, err := Open(ctx, w.state, time.Now)
	if err != nil || len(records.Problems()) != 1 {
		t.Fatalf("%v, %v", records, err)
	}
	if _, err := records.Check(w.at(".env")); err == nil || !strings.Contains(err.Error(), "perstack cannot tell whether job job changed files in "+w.dir) {
		t.Errorf("not closed: %v", err)
	}
	if _, err := records.Check(filepath.Join(t.TempDir(), ".env")); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
	if got := w.refused(".env"); got != "" {
		t.Errorf("then: %q", got)
	}
	r = w.begin("job")
	w.check(os.WriteFile(r.path, []byte("{"), 0o600))
	if _, err := w.open().Check(w.at(".env")); err == nil || !strings.Contains(err.Error(), r.path+" cannot be read") {
		t.Errorf("damaged: %v", err)
	}
}

// A directory that became unreadable is marked as a whole, even if its rights come back.
func TestUnsearched(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads every directory")
	}
	w := newWorld(t)
	w.write("sub/x", "")
	r := w.begin("job")
	w.write("sub/.env", "job")
	w.check(os.Chmod(w.at("sub"), 0))
	got := w.text(w.end(r).Marks)
	w.check(os.Chmod(w.at("sub"), 0o700))
	if got != "unsearched sub" || w.refused("sub/.env") != "unsearched sub" {
		t.Errorf("%q, then %q", got, w.refused("sub/.env"))
	}
	w.accept(w.at("sub/.env"))
	if got := w.refused("sub/.env"); got != "unsearched sub" {
		t.Errorf("one file was accepted: %q", got)
	}
	w.accept(w.at("sub"))
	if got := w.refused("sub/.env"); got != "" {
		t.Errorf("accepted: %q", got)
	}
}

// Rights that a job takes away from the workspace change nothing.
func TestReadOnlyWorkspace(t *testing.T) {
	w := newWorld(t)
	w.write("x", "")
	r := w.begin("job")
	w.write(".env", "job")
	w.check(os.Chmod(w.dir, 0o555))
	t.Cleanup(func() { os.Chmod(w.dir, 0o700) })
	if got := w.text(w.end(r).Marks); got != "appeared .env" || w.refused(".env") != got {
		t.Errorf("%q, then %q", got, w.refused(".env"))
	}
}

func TestGit(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{".git/HEAD", ".git/objects/x", ".git/refs/x", ".git/hooks/pre-push.sample"} {
		w.write(name, "")
	}
	w.write(".git/config", "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../shared.inc\n")
	w.write("shared.inc", "")
	w.write(".githooks/pre-commit", "")
	w.check(os.Chmod(w.at(".githooks/pre-commit"), 0o755))
	w.write(".githooks/post-merge", "not executable")
	w.end(w.begin("nothing"))
	r := w.begin("job")
	w.write(".git/index", "work")
	w.write(".githooks/pre-commit", "evil")
	w.check(os.Chmod(w.at(".githooks/post-merge"), 0o755))
	w.write("shared.inc", "[core]\n\tfsmonitor = evil\n")
	w.write(".git/info/attributes", "* filter=evil")
	for _, name := range []string{"deep/bare/HEAD", "deep/bare/objects/x", "deep/bare/refs/x", "deep/bare/config", "deep/bare/hooks/pre-commit", "tree/.git", ".git/modules/m/HEAD", ".git/modules/m/commondir"} {
		w.write(name, "gitdir: ../deep/bare")
	}
	w.check(os.Chmod(w.at("deep/bare/hooks/pre-commit"), 0o755))
	report := w.end(r)
	var got []string
	for _, c := range report.Git {
		rest, _ := userfile.Below(w.dir, c.Path)
		got = append(got, fmt.Sprint(filepath.ToSlash(rest), " ", c.New))
	}
	want := []string{
		".git/info/attributes true", ".git/modules/m true", ".githooks/post-merge true", ".githooks/pre-commit false",
		"deep/bare true", "deep/bare/hooks/pre-commit true", "shared.inc false", "tree/.git true",
	}
	if !slices.Equal(got, want) || len(report.Marks) > 0 {
		t.Errorf("%q, %v\nwant %q", got, report.Marks, want)
	}
}
