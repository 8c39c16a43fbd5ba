package protect

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/userfile"
)

// A file that was read and is another one before the first program starts is noticed, even if it
// was exchanged for a moment only.
func TestCheckRead(t *testing.T) {
	w := newWorld(t)
	w.write("perstack.toml", "user")
	other := w.begin("other")
	for _, c := range []struct {
		read, now         string // "" for no file
		unchanged, refuse bool
	}{
		{"user", "user", true, false},
		{"planted", "user", false, false}, // and back
		{"user", "planted", false, true},
		{"planted", "planted", true, true},
		{"", "user", false, false},
		{"user", "", false, true},
		{"", "", true, true},
	} {
		w.check(os.RemoveAll(w.at("perstack.toml")))
		if c.now != "" {
			w.write("perstack.toml", c.now)
		}
		sum := ""
		if c.read != "" {
			sum = userfile.Digest([]byte(c.read))
		}
		check, unchanged, err := w.open().CheckRead(w.at("perstack.toml"), sum)
		if err != nil || unchanged != c.unchanged || len(check.Refusals) > 0 != c.refuse {
			t.Errorf("%+v: %t, %v, %v", c, unchanged, check.Refusals, err)
		}
		if _, unchanged, _ := (*Marks)(nil).CheckRead(w.at("perstack.toml"), sum); unchanged != c.unchanged {
			t.Errorf("%+v: %t without records", c, unchanged)
		}
	}
	w.end(other)
}

// What the user accepts is what the user was shown.
func TestAcceptWhatWasShown(t *testing.T) {
	for _, running := range []bool{false, true} {
		w := newWorld(t)
		w.write(".env", "user")
		job := w.begin("job")
		w.write(".env", "shown")
		if !running {
			w.end(job)
		}
		marks := w.open()
		c, err := marks.Check(w.at(".env"))
		w.check(err)
		w.write(".env", "later")
		if err := marks.Accept(c); err == nil || !strings.Contains(err.Error(), "has changed since") {
			t.Errorf("running %t: %v", running, err)
		}
		if got := w.refused(".env"); got != "changed .env" {
			t.Errorf("running %t: %q", running, got)
		}
	}
}

// Accepting a file does not open the record of a job again that ended meanwhile.
func TestAcceptAfterTheEnd(t *testing.T) {
	w := newWorld(t)
	w.write(".env", "user")
	job := w.begin("job")
	w.write(".env", "job")
	w.write("sub/.env", "job")
	marks := w.open()
	c, err := marks.Check(w.at(".env"))
	w.check(err)
	w.end(job)
	w.check(marks.Accept(c))
	if got := w.refused(".env") + w.refused("sub/.env"); got != "appeared sub/.env" {
		t.Errorf("%q", got)
	}
	for _, one := range w.open().records {
		if one.Closed == 0 {
			t.Error("the record is open again")
		}
	}
}

// A workspace that the user renames takes its marks with it, also those on files that are gone or
// were edited, and those of a job whose end was not recorded.
func TestMovedWorkspace(t *testing.T) {
	for _, killed := range []bool{false, true} {
		w := newWorld(t)
		for _, name := range []string{"perstack.lock", "perstack.toml", "sub/.env"} {
			w.write(name, "user")
		}
		if identify(w.dir) == (identity{}) {
			t.Skip("directories have no identity here")
		}
		job := w.begin("job")
		w.check(os.Remove(w.at("perstack.lock")))
		w.write("perstack.toml", "job")
		w.write("sub/perstack.toml", "job")
		if killed {
			w.kill(job)
		} else {
			w.end(job)
		}
		w.check(os.Rename(w.dir, w.dir+"-2"))
		moved := func(name string) string { return "../ws-2/" + name }
		w.write(moved("perstack.toml"), "job, then user")
		for range 2 {
			for name, want := range map[string]string{
				"perstack.lock": "removed perstack.lock", "perstack.toml": "changed perstack.toml",
				"sub/perstack.toml": "appeared sub/perstack.toml", "sub/.env": "", ".env": "",
			} {
				if got := w.refused(moved(name)); got != want {
					t.Errorf("killed %t: %s is refused for %q, want %q", killed, name, got, want)
				}
			}
		}
		for _, name := range []string{"perstack.lock", "perstack.toml", "sub/perstack.toml"} {
			w.accept(w.at(moved(name)))
			if got := w.refused(moved(name)); got != "" {
				t.Errorf("killed %t: %s was accepted, and is refused for %q", killed, name, got)
			}
		}
	}
}

// A directory that could not be searched is refused under another name, too.
func TestUnsearchedMoved(t *testing.T) {
	w := newWorld(t)
	deep := strings.TrimSuffix(strings.Repeat("d/", 400), "/")
	w.write("x", "")
	if identify(w.dir) == (identity{}) {
		t.Skip("directories have no identity here")
	}
	job := w.begin("job")
	w.write(deep+"/e/.env", "job")
	if got := w.text(w.end(job).Marks); got != "unsearched "+deep+"/e" {
		t.Fatalf("%q", got)
	}
	w.check(os.Rename(w.at(deep+"/e"), w.at("e")))
	if got := w.refused("e/.env"); got != "unsearched "+deep+"/e" {
		t.Errorf("%q", got)
	}
	c, err := w.open().Check(w.at("e/.env"))
	if err != nil || len(c.Refusals) != 1 || c.Refusals[0].Accept != w.at("e") {
		t.Errorf("%+v, %v", c.Refusals, err)
	}
	w.accept(w.at("e"))
	if got := w.refused("e/.env"); got != "" {
		t.Errorf("accepted: %q", got)
	}
}

// Jobs of one name that begin at once have a record each.
func TestBeginAtOnce(t *testing.T) {
	w := newWorld(t)
	w.write(".env", "user")
	project, err := w.state.Project(w.dir)
	w.check(err)
	const jobs = 8
	all := make([]*Watch, jobs)
	var group sync.WaitGroup
	for i := range jobs {
		group.Go(func() {
			var err error
			if all[i], err = Begin(t.Context(), Options{State: project.State, Workspace: w.dir, Job: "install", Now: time.Now()}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	var paths []string
	for _, one := range all {
		paths = append(paths, one.path)
	}
	if slices.Sort(paths); len(slices.Compact(paths)) != jobs {
		t.Fatalf("%q", paths)
	}
	w.write(".env", "job")
	for i, one := range all {
		if i%2 == 0 {
			w.kill(one)
		} else {
			w.end(one)
		}
	}
	c, err := w.open().Check(w.at(".env"))
	if err != nil || len(c.Refusals) != jobs {
		t.Errorf("%d refusals, %v", len(c.Refusals), err)
	}
}

// A repository with many hooks does not keep perstack from ending.
func TestRepositoryIsCancelled(t *testing.T) {
	w := newWorld(t)
	w.write(".git/hooks/pre-commit", "x")
	w.check(os.Chmod(w.at(".git/hooks/pre-commit"), 0o755))
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	s := survey{Git: make(map[string]File)}
	if err := s.repository(ctx, w.at(".git"), nil); !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if _, looked := s.Git[filepath.Join(w.at(".git"), "hooks", "pre-commit")]; looked {
		t.Error("it looked at the hooks")
	}
}

// A project that was copied and adopted has the marks of the old one, and a killed job in it is
// compared at its new path.
func TestAdopt(t *testing.T) {
	for _, killed := range []bool{false, true} {
		w := newWorld(t)
		w.write("perstack.toml", "user")
		job := w.begin("job")
		w.write("perstack.toml", "job")
		w.write("sub/.env", "job")
		if killed {
			w.kill(job)
		} else {
			w.end(job)
		}
		old, err := w.state.Project(w.dir)
		w.check(err)
		copied := filepath.Join(filepath.Dir(w.dir), "copy")
		w.check(os.CopyFS(copied, os.DirFS(w.dir)))
		w.check(os.RemoveAll(w.dir))
		w.open()
		w.dir = copied
		project, err := w.state.Project(w.dir)
		w.check(err)
		w.check(Adopt(old, project))
		for range 2 {
			if got := w.refused("perstack.toml") + ", " + w.refused("sub/.env"); got != "changed perstack.toml, appeared sub/.env" {
				t.Errorf("killed %t: %q", killed, got)
			}
		}
		if left, err := recordFiles(old.State); err != nil || len(left) > 0 {
			t.Errorf("killed %t: %q, %v", killed, left, err)
		}
	}
}

// File systems give the number of a deleted directory to a new one, which no job has touched.
func TestReusedInode(t *testing.T) {
	id := identity{1, 2}
	for name, tt := range map[string]struct {
		now  node
		want bool
	}{
		"the same":      {node{id, 1000}, true},
		"unknown birth": {node{id, 0}, true},
		"made later":    {node{id, 1001}, false},
		"another":       {node{identity{1, 3}, 1000}, false},
	} {
		if got := tt.now.was(id, 1000); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if at := bornAt(t.TempDir()); at > time.Now().UnixMilli() {
		t.Errorf("a directory is made at %d", at)
	}
}
