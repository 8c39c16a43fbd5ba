//go:build unix

package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/attack"
	"github.com/perstack-go/perstack/internal/testkit/evil"
	"github.com/perstack-go/perstack/internal/workspace"
)

// A swapFixture is a workspace in which another process swaps names for links:
//
//	d, m/e   directories, for links to the directory outside
//	g        a directory, for a link to the directory of the jobs
//	f        a file, for a link to a file outside
//	r        a directory, for a link to a directory outside
type swapFixture struct {
	*fixture
	dirs  map[string]*os.Root // the true directories, wherever they are called what
	swaps []evil.Swap
	safe  string // the canary tree as it was
}

// outsideSize is the size of the files out of reach; no other has it.
const outsideSize = 7777

func newSwapFixture(t testing.TB) *swapFixture {
	t.Helper()
	y := &swapFixture{fixture: newFixture(t), dirs: make(map[string]*os.Root)}
	secret := canary + strings.Repeat("x", outsideSize-len(canary))
	for _, dir := range []string{y.outside, filepath.Join(y.dir, "perstack", "jobs")} {
		for _, name := range []string{"secret.txt", "sub/x", "sub/deep/y", "only-" + canary, "sub/only-" + canary} {
			put(t, filepath.Join(dir, name), secret)
		}
	}
	y.safe = y.beyond(t)
	for name, target := range map[string]string{"d": "../outside", "m/e": "../../outside", "g": "perstack/jobs", "r": "../outside/sub"} {
		if err := os.MkdirAll(filepath.Join(y.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(filepath.Join(y.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { root.Close() })
		y.dirs[name] = root
		y.swap(name, target)
	}
	put(t, filepath.Join(y.dir, "f"), "inside")
	y.swap("f", "../outside/secret.txt")
	return y
}

func (y *swapFixture) swap(name, target string) {
	path := filepath.Join(y.dir, name)
	y.swaps = append(y.swaps, evil.Swap{Name: path, Other: path + ".link", Target: target})
}

// plant makes the true directory have what every operation needs. It may fail when the
// directory was removed, or when others plant at the same time.
func (y *swapFixture) plant(dir string) {
	root := y.dirs[dir]
	for _, name := range []string{"secret.txt", "sub/x", "sub/deep/y"} {
		if _, err := root.Lstat(name); err != nil {
			_ = root.MkdirAll("sub/deep", 0o755)
			_ = root.WriteFile(name, []byte("inside"), 0o644)
		}
	}
}

// beyond describes what is out of reach: names, contents, modes, and when
// something was last changed.
func (y *swapFixture) beyond(t testing.TB) string {
	t.Helper()
	var out strings.Builder
	for _, dir := range []string{y.outside, filepath.Join(y.dir, "perstack")} {
		err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
			if err != nil {
				return err
			}
			fmt.Fprintf(&out, "%s %v %d %d\n", path, info.Mode(), info.Size(), info.ModTime().UnixNano())
			if info.Mode().IsRegular() {
				data, err := os.ReadFile(path)
				out.Write(data)
				return err
			}
			return nil
		})
		if err != nil {
			fmt.Fprintf(&out, "%v\n", err)
		}
	}
	return out.String()
}

// escaped says what is wrong with what an operation saw.
func escaped(saw string) string {
	if strings.Contains(saw, canary) || strings.Contains(saw, fmt.Sprintf("size=%d", outsideSize)) {
		return fmt.Sprintf("saw %.100q", saw)
	}
	return ""
}

// harmed says whether something out of reach has changed.
func (y *swapFixture) harmed(t testing.TB) string {
	t.Helper()
	if now := y.beyond(t); now != y.safe {
		return "changed what is out of reach"
	}
	return ""
}

// A toolset is the way in which the operations use the files.
type toolset interface {
	open(name string) (saw string, err error)
	read(name string) (saw string, err error)
	stat(name string) (saw string, err error)
	list(name string) (saw string, err error)
	enter(name string) (saw string, err error)
	write(name, text string) error
	extend(name, text string) error
	edit(name, text string) error
	move(from, to string) error
	remove(name string) error
	makeDir(name string) error
	removeDir(name string, all bool) error
}

// An operation tries one method of a toolset. What it needs was planted before.
type operation struct {
	name string
	dir  string // where it needs something planted
	do   func(f toolset, fresh string) (saw string, err error)
}

// looks reports whether the operation changes nothing.
func (o operation) looks() bool {
	verb, _, _ := strings.Cut(o.name, " ")
	return slices.Contains([]string{"OpenFile", "ReadFile", "Stat", "ReadDir", "OpenDir"}, verb)
}

// done is for methods that only act.
func done(err error) (string, error) { return "", err }

// operations try every method, with the swapped name in the middle of a path and, where
// the method can do harm there, at its end. fresh is a name that nothing has yet.
func operations() (all []operation) {
	for _, dir := range []string{"d", "m/e", "g"} {
		in := func(name string) string { return dir + "/" + name }
		for name, do := range map[string]func(f toolset, fresh string) (string, error){
			"OpenFile":         func(f toolset, _ string) (string, error) { return f.open(in("secret.txt")) },
			"ReadFile":         func(f toolset, _ string) (string, error) { return f.read(in("sub/x")) },
			"Stat":             func(f toolset, _ string) (string, error) { return f.stat(in("secret.txt")) },
			"ReadDir":          func(f toolset, _ string) (string, error) { return f.list(in("sub")) },
			"ReadDir itself":   func(f toolset, _ string) (string, error) { return f.list(dir) },
			"OpenDir":          func(f toolset, _ string) (string, error) { return f.enter(in("sub")) },
			"OpenDir itself":   func(f toolset, _ string) (string, error) { return f.enter(dir) },
			"WriteFile":        func(f toolset, _ string) (string, error) { return done(f.write(in("secret.txt"), "inside")) },
			"WriteFile new":    func(f toolset, fresh string) (string, error) { return done(f.write(in(fresh), "inside")) },
			"AppendFile":       func(f toolset, _ string) (string, error) { return done(f.extend(in("secret.txt"), "inside")) },
			"EditFile":         func(f toolset, _ string) (string, error) { return done(f.edit(in("secret.txt"), "inside")) },
			"Move from":        func(f toolset, fresh string) (string, error) { return done(f.move(in("secret.txt"), fresh)) },
			"Move to":          func(f toolset, fresh string) (string, error) { return done(f.move(in("sub/x"), in(fresh))) },
			"RemoveFile":       func(f toolset, _ string) (string, error) { return done(f.remove(in("secret.txt"))) },
			"MakeDir":          func(f toolset, fresh string) (string, error) { return done(f.makeDir(in(fresh))) },
			"RemoveDir":        func(f toolset, _ string) (string, error) { return done(f.removeDir(in("sub"), true)) },
			"WriteFile deeper": func(f toolset, fresh string) (string, error) { return done(f.write(in(fresh+"/a/b"), "inside")) },
		} {
			all = append(all, operation{name + " " + dir, dir, do})
		}
	}
	return append(all,
		operation{"OpenFile f", "d", func(f toolset, _ string) (string, error) { return f.open("f") }},
		operation{"Stat f", "d", func(f toolset, _ string) (string, error) { return f.stat("f") }},
		operation{"WriteFile f", "d", func(f toolset, _ string) (string, error) { return done(f.write("f", "inside")) }},
		operation{"AppendFile f", "d", func(f toolset, _ string) (string, error) { return done(f.extend("f", "inside")) }},
		operation{"EditFile f", "d", func(f toolset, _ string) (string, error) { return done(f.edit("f", "inside")) }},
	)
}

// ends are operations on swapped names that take them away. Only a toolset that keeps
// what it checked can be trusted with them; the other one fails with those above.
func ends() []operation {
	return []operation{
		{"RemoveFile f", "d", func(f toolset, _ string) (string, error) {
			err := f.remove("f")
			_ = f.write("f", "inside")
			return "", err
		}},
		{"Move f", "d", func(f toolset, fresh string) (string, error) {
			err := f.move("f", fresh)
			_ = f.move(fresh, "f")
			return "", err
		}},
		{"RemoveDir r", "r", func(f toolset, fresh string) (string, error) {
			_ = f.makeDir("r/" + fresh)
			err := f.removeDir("r", true)
			return "", errors.Join(err, f.makeDir("r"))
		}},
		{"ReadDir the root", "d", func(f toolset, _ string) (string, error) { return f.list(".") }},
	}
}

// Another process swaps directories and files for links 100,000 times while all file
// tools run. Nothing out of reach is read, written, listed, created or deleted.
func TestSwappedByAnotherProcess(t *testing.T) {
	y := newSwapFixture(t)
	swaps := 100_000
	if testing.Short() {
		swaps = 5_000
	}
	s := evil.StartSwapping(t, swaps, y.swaps...)
	all := append(operations(), ends()...)
	// Operations that only look do not wait for the disk, so they have goroutines of their own.
	var looking, changing []int
	for i, op := range all {
		if op.looks() {
			looking = append(looking, i)
		} else {
			changing = append(changing, i)
		}
	}
	worked := make([]atomic.Int64, len(all)) // how often an operation did what it was asked
	f := checked{y.Workspace}
	var fresh atomic.Int64
	var users sync.WaitGroup
	for _, group := range [][]int{looking, looking, changing, changing} {
		users.Go(func() {
			for {
				for _, i := range group {
					op := all[i]
					y.plant(op.dir)
					saw, err := op.do(f, fmt.Sprint("fresh", fresh.Add(1)))
					if what := escaped(saw); what != "" {
						t.Errorf("%s %s", op.name, what)
						return
					}
					if err == nil {
						worked[i].Add(1)
					}
				}
				select {
				case <-s.Done():
					return
				default:
				}
			}
		})
	}
	users.Wait()
	if n := s.Stop(); n != swaps {
		t.Errorf("%d swaps, want %d", n, swaps)
	}
	if what := y.harmed(t); what != "" {
		t.Errorf("%s:\n%s", what, y.beyond(t))
	}
	idle := 0
	for i, op := range all {
		t.Logf("%-24s %6d times", op.name, worked[i].Load())
		if worked[i].Load() == 0 {
			idle++
		}
	}
	// Each is a matter of luck; all together are not. If most never got through, the
	// test would prove little.
	if idle > len(all)/2 {
		t.Errorf("%d of %d operations never did what they were asked", idle, len(all))
	}
	attack.Held(t, "F1", swaps)
}

// The test above catches a toolset that checks the text of a path: with every method that
// a swap can lead astray.
func TestSwapsDefeatStringCheck(t *testing.T) {
	for _, op := range operations() {
		if strings.HasSuffix(op.name, " g") || strings.HasSuffix(op.name, "m/e") {
			continue // as d; what is protected inside is not what a check of the prefix is about
		}
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			y := newSwapFixture(t)
			s := evil.StartSwapping(t, 1<<30, y.swaps...)
			f := naive{y.dir}
			const tries = 20_000
			for i := range tries {
				y.plant(op.dir)
				saw, _ := op.do(f, fmt.Sprint("fresh", i))
				if escaped(saw) != "" || y.harmed(t) != "" {
					return // caught
				}
				select {
				case <-s.Done():
					t.Fatal("the swapping process has ended")
				default:
				}
			}
			t.Errorf("a check of the text was not caught in %d tries", tries)
		})
	}
}

// checked is the real toolset.
type checked struct{ *workspace.Workspace }

func (w checked) open(name string) (string, error) {
	return (&fixture{Workspace: w.Workspace}).read(name)
}

func (w checked) read(name string) (string, error) {
	_, data, err := w.ReadFile(context.Background(), name, 1<<20)
	return string(data), err
}

func (w checked) stat(name string) (string, error) {
	info, err := w.Stat(context.Background(), name)
	return fmt.Sprintf("size=%d", info.Size), err
}

func (w checked) list(name string) (string, error) {
	l, err := w.ReadDir(context.Background(), name, 0, 1000)
	var saw strings.Builder
	for _, e := range l.Entries {
		fmt.Fprintf(&saw, "%s size=%d\n", e.Name, e.Size)
	}
	return saw.String(), err
}

func (w checked) enter(name string) (string, error) {
	d, err := w.OpenDir(context.Background(), name)
	if err != nil {
		return "", err
	}
	defer d.Close()
	names, err := d.File.Readdirnames(-1)
	return strings.Join(names, "\n"), err
}

func shown(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	var saw strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			fmt.Fprintf(&saw, "%s size=%d\n", e.Name(), info.Size())
		}
	}
	return saw.String(), err
}

func (w checked) write(name, text string) error {
	_, err := w.WriteFile(context.Background(), name, []byte(text))
	return err
}

func (w checked) extend(name, text string) error {
	_, err := w.AppendFile(context.Background(), name, []byte(text))
	return err
}

func (w checked) edit(name, text string) error {
	_, err := w.EditFile(context.Background(), name, 1<<20, func([]byte) ([]byte, error) { return []byte(text), nil })
	return err
}

func (w checked) move(from, to string) error {
	_, _, err := w.Move(context.Background(), from, to)
	return err
}

func (w checked) remove(name string) error {
	_, err := w.RemoveFile(context.Background(), name)
	return err
}

func (w checked) makeDir(name string) error {
	_, err := w.MakeDir(context.Background(), name)
	return err
}

func (w checked) removeDir(name string, all bool) error {
	_, err := w.RemoveDir(context.Background(), name, all)
	return err
}

// naive is a toolset with a common mistake: it resolves a path, compares the text, and then
// uses the path.
type naive struct{ dir string }

func (n naive) check(name string) (string, error) {
	path := filepath.Join(n.dir, filepath.Clean("/"+name))
	for up := path; ; up = filepath.Dir(up) {
		resolved, err := filepath.EvalSymlinks(up)
		if err != nil && up != n.dir {
			continue // it does not exist yet
		}
		if !strings.HasPrefix(resolved+"/", n.dir+"/") {
			return "", errors.New("outside")
		}
		time.Sleep(50 * time.Microsecond) // as a busy machine would
		return path, nil
	}
}

func (n naive) open(name string) (string, error) {
	path, err := n.check(name)
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(path)
	return string(data), err
}

func (n naive) read(name string) (string, error) { return n.open(name) }

func (n naive) stat(name string) (string, error) {
	path, err := n.check(name)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("size=%d", info.Size()), nil
}

func (n naive) list(name string) (string, error) {
	path, err := n.check(name)
	if err != nil {
		return "", err
	}
	return shown(path)
}

func (n naive) enter(name string) (string, error) { return n.list(name) }

// act checks a name and then does something with it.
func (n naive) act(name string, do func(path string) error) error {
	path, err := n.check(name)
	if err != nil {
		return err
	}
	return do(path)
}

func (n naive) write(name, text string) error {
	return n.act(name, func(path string) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o644)
	})
}

func (n naive) extend(name, text string) error {
	return n.act(name, func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(text)
		return errors.Join(err, f.Close())
	})
}

func (n naive) edit(name, text string) error { return n.write(name, text) }

func (n naive) move(from, to string) error {
	return n.act(from, func(source string) error {
		return n.act(to, func(target string) error { return os.Rename(source, target) })
	})
}

func (n naive) remove(name string) error { return n.act(name, os.Remove) }
func (n naive) makeDir(name string) error {
	return n.act(name, func(p string) error { return os.Mkdir(p, 0o755) })
}

func (n naive) removeDir(name string, all bool) error {
	if !all {
		return n.remove(name)
	}
	return n.act(name, os.RemoveAll)
}
