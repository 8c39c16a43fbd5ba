package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	variables := map[string]string{"XDG_STATE_HOME": "/state", "LocalAppData": `/local`}
	getenv := func(name string) string { return variables[name] }
	none := func(string) string { return "" }
	for _, tt := range []struct {
		goos, home string
		getenv     func(string) string
		want       string
	}{
		{"linux", "/home/u", none, "/home/u/.local/state/perstack"},
		{"linux", "/home/u", getenv, "/state/perstack"},
		{"linux", "", getenv, "/state/perstack"},
		{"linux", "/home/u", func(string) string { return "relative" }, "/home/u/.local/state/perstack"},
		{"darwin", "/Users/u", getenv, "/Users/u/Library/Application Support/perstack"},
		{"windows", "", getenv, "/local/perstack"},
		{"linux", "", none, ""},
		{"darwin", "", getenv, ""},
		{"windows", "/home/u", none, ""},
	} {
		got, err := Find(tt.goos, tt.home, tt.getenv)
		if filepath.ToSlash(string(got)) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s, home %q: %q, %v, want %q", tt.goos, tt.home, got, err, tt.want)
		}
	}
}

// Projects of one name do not share a directory, and a link leads to the same project.
func TestProject(t *testing.T) {
	root, dir := Dir(t.TempDir()), t.TempDir()
	of := func(path string) Project {
		t.Helper()
		p, err := root.Project(path)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, name := range []string{"a/site", "b/site"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a, b := of(filepath.Join(dir, "a", "site")), of(filepath.Join(dir, "b", "site"))
	if a.State == b.State || !strings.HasPrefix(filepath.Base(a.State), "site-") || filepath.Dir(filepath.Dir(a.State)) != string(root) {
		t.Errorf("%s and %s", a.State, b.State)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(a.Path, link); err != nil {
		t.Skip(err)
	}
	if of(link) != a {
		t.Errorf("%+v by a link, %+v without", of(link), a)
	}
	if err := os.RemoveAll(a.Path); err != nil {
		t.Fatal(err)
	}
	if gone := of(a.Path); gone != a {
		t.Errorf("removed: %+v, before %+v", gone, a)
	}
	parent := filepath.Join(dir, "parent")
	if err := os.Symlink(filepath.Join(dir, "a"), parent); err != nil {
		t.Fatal(err)
	}
	if gone := of(filepath.Join(parent, "site")); gone != a {
		t.Errorf("removed, by a link: %+v, before %+v", gone, a)
	}
}

// A name never leads to another directory, whatever it has in it.
func TestDirectoryName(t *testing.T) {
	for name, want := range map[string]string{
		"site": "site", "My Site": "My_Site", "..": "project", "/": "project", "ä": "project", "a/../b": "a____b", "CON.": "CON",
		strings.Repeat("x", 99): strings.Repeat("x", maxName),
	} {
		if got := directoryName(name); got != want {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
}

func TestProjects(t *testing.T) {
	root := Dir(filepath.Join(t.TempDir(), "new"))
	if all, err := root.Projects(); err != nil || len(all) != 0 {
		t.Errorf("none yet: %v, %v", all, err)
	}
	var want []Project
	for range 2 {
		p, err := root.Project(t.TempDir())
		if err == nil {
			err = p.Record()
		}
		if err == nil {
			err = p.Record() // as by the next run
		}
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, p)
	}
	// What says nothing about a project is left out.
	for name, text := range map[string]string{"empty": "", "text": "x", "relative": `{"path":"x"}`} {
		dir := filepath.Join(string(root), projectsName, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, recordName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := root.Projects()
	if err != nil || len(all) != 2 || all[0] != want[0] || all[1] != want[1] {
		t.Errorf("%v, %v, want %v", all, err, want)
	}
	if info, err := os.Stat(filepath.Join(all[0].State, recordName)); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := all[0].Forget(); err != nil {
		t.Fatal(err)
	}
	if all, err := root.Projects(); err != nil || len(all) != 1 || all[0] != want[1] {
		t.Errorf("after one was forgotten: %v, %v", all, err)
	}
}

// The user is told of an old history once, and it stays the same project.
func TestTellOldHistory(t *testing.T) {
	root := Dir(t.TempDir())
	p, err := root.Project(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false} {
		if got, err := p.TellOldHistory(); err != nil || got != want {
			t.Errorf("%d: %v, %v", i, got, err)
		}
	}
	if all, err := root.Projects(); err != nil || len(all) != 1 || all[0] != p {
		t.Errorf("%v, %v", all, err)
	}
}

// A project that was moved takes the data of its skills along, and leaves no directory behind.
func TestMoveSkills(t *testing.T) {
	root, top := Dir(t.TempDir()), t.TempDir()
	old, err := root.Project(filepath.Join(top, "old"))
	if err == nil {
		err = old.Record()
	}
	if err != nil {
		t.Fatal(err)
	}
	if gone, err := root.Gone(); err != nil || len(gone) != 1 || gone[0] != old {
		t.Errorf("gone are %v, %v", gone, err)
	}
	now, err := root.Project(top)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		filepath.Join(old.Skills(), "memory"): "old memory", filepath.Join(old.Skills(), "notes"): "old notes",
		filepath.Join(now.Skills(), "notes"): "new notes",
	} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, "data"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	move := func() {
		t.Helper()
		if err := now.MoveSkills(old); err != nil {
			t.Fatal(err)
		}
	}
	move()
	for name, want := range map[string]string{"memory": "old memory", "notes": "new notes"} {
		if data, err := os.ReadFile(filepath.Join(now.Skills(), name, "data")); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if err := os.RemoveAll(filepath.Join(now.Skills(), "notes")); err != nil {
		t.Fatal(err)
	}
	move()
	if err := old.Forget(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old.State); err == nil {
		t.Error("the old project has left its directory behind")
	}
}
