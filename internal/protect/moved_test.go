package protect

import (
	"os"
	"path/filepath"
	"testing"
)

// replace writes a file as many editors do: a new one takes the name.
func (w *world) replace(name, text string) {
	w.Helper()
	w.write(name+"~", text)
	w.check(os.Rename(w.at(name+"~"), w.at(name)))
}

// rename moves a file or a directory.
func (w *world) rename(from, to string) {
	w.Helper()
	w.check(os.MkdirAll(filepath.Dir(w.at(to)), 0o700))
	w.check(os.Rename(w.at(from), w.at(to)))
}

// later returns when a new file is younger than an old one: the clock of file systems is coarse.
func (w *world) later(old string) {
	w.Helper()
	born := bornAt(w.at(old))
	for now := int64(0); born != 0 && now <= born; now = bornAt(w.at("probe")) {
		w.check(os.RemoveAll(w.at("probe")))
		w.write("probe", "")
	}
}

// A file that the user moves and then edits is still the one that a job wrote.
func TestMovedThenEdited(t *testing.T) {
	for name, tt := range map[string]struct {
		before func(*world) // the job; can be nil
		job    func(*world)
		user   func(*world) // moves
		edit   func(w *world, name, text string)
		at     string
		want   string
	}{
		"the directory":                 {nil, appear, moveTo("d", "e"), (*world).write, "e/perstack.toml", "appeared d/perstack.toml"},
		"the directory, replaced":       {nil, appear, moveTo("d", "e"), (*world).replace, "e/perstack.toml", "appeared d/perstack.toml"},
		"out of the workspace":          {nil, appear, moveTo("d", "../e"), (*world).write, "../e/perstack.toml", "appeared d/perstack.toml"},
		"out of it, replaced":           {nil, appear, moveTo("d", "../e"), (*world).replace, "../e/perstack.toml", "appeared d/perstack.toml"},
		"a directory around it":         {nil, func(w *world) { w.write("d/sub/.env", "job") }, moveTo("d", "e"), (*world).replace, "e/sub/.env", "appeared d/sub/.env"},
		"the file":                      {nil, appear, moveTo("d/perstack.toml", "x.toml"), (*world).write, "x.toml", "appeared d/perstack.toml"},
		"the file, into a directory":    {nil, appear, moveTo("d/perstack.toml", "../f/x"), (*world).write, "../f/x", "appeared d/perstack.toml"},
		"a changed file":                {userFile, appear, moveTo("d/perstack.toml", "x.toml"), (*world).write, "x.toml", "changed d/perstack.toml"},
		"a changed file in a directory": {userFile, appear, moveTo("d", "e"), (*world).replace, "e/perstack.toml", "changed d/perstack.toml"},
		"a removed file":                {userFile, func(w *world) { w.check(os.Remove(w.at("d/perstack.toml"))) }, moveTo("d", "e"), nil, "e/perstack.toml", "removed d/perstack.toml"},
		"there and back":                {nil, appear, func(w *world) { w.rename("d", "e"); w.open(); w.rename("e", "d") }, (*world).replace, "d/perstack.toml", "appeared d/perstack.toml"},
		"the target of a link": {func(w *world) { w.write("shared", "user"); w.link("shared", ".env") }, func(w *world) { w.write("shared", "job") },
			moveTo("shared", "keys"), (*world).write, "keys", "changed .env"},
		"another file in the directory": {nil, appear, func(w *world) { w.rename("d", "e"); w.write("e/.env", "user") }, (*world).write, "e/.env", ""},
		"a new directory at the path":   {nil, appear, func(w *world) { w.rename("d", "e"); w.open(); w.write("d/perstack.toml", "user") }, (*world).write, "d/perstack.toml", ""},
		"deleted, then a new one":       {nil, appear, func(w *world) { w.later("d/perstack.toml"); w.check(os.Remove(w.at("d/perstack.toml"))); w.open() }, (*world).write, "d/perstack.toml", ""},
		"all deleted, then a new one":   {nil, appear, func(w *world) { w.later("d/perstack.toml"); w.check(os.RemoveAll(w.at("d"))); w.open() }, (*world).write, "d/perstack.toml", ""},
		"restored in place":             {userFile, appear, func(w *world) { w.write("d/perstack.toml", "user"); w.open() }, (*world).write, "d/perstack.toml", ""},
		"kept, and restored":            {userFile, appear, func(w *world) { w.rename("d/perstack.toml", "x.toml"); w.write("d/perstack.toml", "user"); w.open() }, (*world).write, "d/perstack.toml", ""},
		"kept elsewhere":                {userFile, appear, func(w *world) { w.rename("d/perstack.toml", "x.toml"); w.write("d/perstack.toml", "user"); w.open() }, (*world).write, "x.toml", "changed d/perstack.toml"},
		"the user's, by a link":         {func(w *world) { w.write(".env", "user") }, func(w *world) { w.write("d/x", ""); w.link("../.env", "d/.env") }, nil, (*world).write, ".env", ""},
	} {
		for _, refusedFirst := range []bool{false, true} {
			w := newWorld(t)
			w.write("x", "")
			if identify(w.dir) == (identity{}) {
				t.Skip("files have no identity here")
			}
			if tt.before != nil {
				tt.before(w)
			}
			r := w.begin("job")
			tt.job(w)
			w.end(r)
			if tt.user != nil {
				tt.user(w)
			}
			if refusedFirst {
				w.refused(tt.at)
			}
			for _, text := range []string{"edited", "edited again"} {
				if tt.edit != nil {
					tt.edit(w, tt.at, text)
				}
				if got := w.refused(tt.at); got != tt.want {
					t.Errorf("%s, refused first %t, %s: %q, want %q", name, refusedFirst, text, got, tt.want)
				}
			}
			w.accept(w.at(tt.at))
			if got := w.refused(tt.at); got != "" {
				t.Errorf("%s, refused first %t: accepted, and refused for %q", name, refusedFirst, got)
			}
		}
	}
}

func appear(w *world)   { w.write("d/perstack.toml", "job") }
func userFile(w *world) { w.write("d/perstack.toml", "user") }

func moveTo(from, to string) func(*world) { return func(w *world) { w.rename(from, to) } }

// A copy that was adopted is recognised when it is moved.
func TestAdoptedThenMoved(t *testing.T) {
	w := newWorld(t)
	w.write("x", "")
	if identify(w.dir) == (identity{}) {
		t.Skip("files have no identity here")
	}
	r := w.begin("job")
	appear(w)
	w.end(r)
	old, err := w.state.Project(w.dir)
	w.check(err)
	copied := filepath.Join(filepath.Dir(w.dir), "copy")
	w.check(os.CopyFS(copied, os.DirFS(w.dir)))
	w.check(os.RemoveAll(w.dir))
	w.dir = copied
	project, err := w.state.Project(w.dir)
	w.check(err)
	w.check(Adopt(old, project))
	w.rename("d", "../e")
	w.replace("../e/perstack.toml", "edited")
	if got := w.refused("../e/perstack.toml"); got != "appeared d/perstack.toml" {
		t.Errorf("%q", got)
	}
}

// A record of an older perstack has no nodes. Its marks are found by the number of the file, and
// the time when the job ended.
func TestMovedInAnOlderRecord(t *testing.T) {
	w := newWorld(t)
	w.write("x", "")
	if identify(w.dir) == (identity{}) {
		t.Skip("files have no identity here")
	}
	r := w.begin("job")
	appear(w)
	w.end(r)
	for path, one := range w.open().records {
		one.Marks[0].File, one.Marks[0].Dir = node{}, node{}
		w.check(one.save(path))
	}
	w.rename("d/perstack.toml", "x.toml")
	w.write("x.toml", "edited")
	if got := w.refused("x.toml"); got != "appeared d/perstack.toml" {
		t.Errorf("%q", got)
	}
}
