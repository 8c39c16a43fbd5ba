package protect

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// A model is what a workspace has, by path: the content of a file, or "-> target" of a link.
type model map[string]string

// content is what a reader of a path gets, and through which links.
func (m model) content(name string) string {
	var way string
	for range 10 {
		text, ok := m[name]
		target, link := cutLink(text)
		switch {
		case !ok:
			return way + "nothing"
		case !link:
			return way + "content " + text
		}
		way += "link " + target + ", "
		name = path.Join(path.Dir(name), target)
	}
	return way
}

func cutLink(text string) (target string, ok bool) {
	if len(text) > 3 && text[:3] == "-> " {
		return text[3:], true
	}
	return "", false
}

// The marks of a job are exactly those names whose content, or the way to it, is another one than
// before, whatever sequence of operations led there, and also if perstack was killed.
func TestRandomOperations(t *testing.T) {
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	for round := range rounds {
		w := newWorld(t)
		w.check(os.MkdirAll(w.dir, 0o700))
		trusted := []string{".env", "perstack.toml", "a/.env.local", "a/b/perstack.lock", "a/b/.env", "conf"}
		names := append([]string{"x", "a/y", "a/b/z"}, trusted...)
		now := make(model)
		for range chance.IntN(12) {
			operate(w, chance, names, now)
		}
		before := make(model)
		for name, text := range now {
			before[name] = text
		}
		r := w.begin("job", "conf")
		var log []string
		for range chance.IntN(15) {
			log = append(log, operate(w, chance, names, now))
		}
		var want []string
		for _, name := range trusted {
			was, is := before.content(name), now.content(name)
			_, had := before[name]
			_, has := now[name]
			switch {
			case was == is:
			case !had:
				want = append(want, "appeared "+name)
			case !has:
				want = append(want, "removed "+name)
			default:
				want = append(want, "changed "+name)
			}
		}
		slices.Sort(want)
		var marks []Mark
		if chance.IntN(2) == 0 {
			marks = w.end(r).Marks
		} else {
			w.kill(r)
			for _, report := range w.open().Reports {
				marks = append(marks, report.Marks...)
			}
		}
		if got := w.text(marks); got != strings.Join(want, ", ") {
			t.Fatalf("round %d: %q, want %q\nbefore %q\nthen %q", round, got, strings.Join(want, ", "), before, log)
		}
		for _, name := range trusted {
			marked := slices.ContainsFunc(want, func(text string) bool { return strings.HasSuffix(text, " "+name) })
			if marked && w.refused(name) == "" {
				t.Fatalf("round %d: %s is marked and can be read", round, name)
			}
		}
		for _, m := range marks {
			if look(m.Path, false, File{}).obstacle != "" { // links in a circle
				w.check(os.Remove(m.Path))
			}
			w.accept(m.Path)
		}
		for _, name := range trusted {
			if got := w.refused(name); got != "" {
				t.Fatalf("round %d: all is accepted, and %s is refused for %s", round, name, got)
			}
		}
	}
}

// operate does one random thing to the workspace and to the model.
func operate(w *world, chance *rand.Rand, names []string, m model) string {
	w.Helper()
	a, b := names[chance.IntN(len(names))], names[chance.IntN(len(names))]
	_, exists := m[a]
	switch n := chance.IntN(10); {
	case n < 3: // replaces a link as well
		text := fmt.Sprint("text ", chance.IntN(3))
		w.check(os.RemoveAll(w.at(a)))
		w.write(a, text)
		m[a] = text
		return "write " + a + " " + text
	case n < 5:
		target := strings.Repeat("../", strings.Count(a, "/")) + b
		w.link(target, a)
		m[a] = "-> " + target
		return "link " + a + " to " + target
	case n < 7 && exists:
		w.check(os.Remove(w.at(a)))
		delete(m, a)
		return "remove " + a
	case n < 9 && exists && a != b:
		w.check(os.MkdirAll(path.Dir(w.at(b)), 0o700))
		w.check(os.Rename(w.at(a), w.at(b)))
		m[b] = m[a]
		delete(m, a)
		return "rename " + a + " to " + b
	case exists:
		if _, link := cutLink(m[a]); !link { // in place, with the same inode
			w.check(os.WriteFile(w.at(a), []byte("again"), 0o600))
			m[a] = "again"
		}
		return "write again " + a
	}
	return "nothing"
}
