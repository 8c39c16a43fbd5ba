package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/workspace"
)

// Links in /proc lead to open files and directories of a process, past every name on
// the way. They are never followed, by no operation, also where /proc is inside.
func TestMagicLinks(t *testing.T) {
	h := newFixture(t)
	secret, err := os.Open(filepath.Join(h.outside, "secret.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer secret.Close()
	dir, err := os.Open(h.outside)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	t.Chdir(h.outside)
	if _, err := os.Stat("/proc/self/cwd/secret.txt"); err != nil {
		testkit.Missing(t, "/proc")
	}
	in := func(top string) []string {
		return []string{
			top + "cwd/secret.txt", top + "root" + h.outside + "/secret.txt", top + "exe", top + "cwd", top + "root", top + "environ", top + "mem",
			fmt.Sprintf("%sfd/%d", top, secret.Fd()), fmt.Sprintf("%sfd/%d/secret.txt", top, dir.Fd()), fmt.Sprintf("%sfd/%d", top, dir.Fd()),
			top + "task/../cwd/secret.txt",
		}
	}
	tests := []struct {
		dir   string
		names []string
	}{
		{"/", append(in("/proc/self/"), append(in(fmt.Sprintf("proc/%d/", os.Getpid())),
			"/proc/thread-self/cwd/secret.txt", "/dev/fd/"+fmt.Sprint(secret.Fd()), "/dev/stdin")...)},
		{"/proc/self", in("")},
		{h.dir, append(in("/proc/self/"), "../../../../../../../../proc/self/cwd/secret.txt")},
	}
	for _, tt := range tests {
		g := open(t, tt.dir)
		for _, name := range tt.names {
			if got, err := g.read(name); err == nil {
				t.Errorf("workspace %s: read %s: %.20q", tt.dir, name, got)
			}
			if l, err := g.ReadDir(t.Context(), name, 0, 10); err == nil {
				t.Errorf("workspace %s: listed %s: %v", tt.dir, name, show(l))
			}
			if d, err := g.OpenDir(t.Context(), name); err == nil {
				d.Close()
				t.Errorf("workspace %s: opened %s", tt.dir, name)
			}
			if strings.Contains(name, "secret.txt") {
				if _, err := g.Stat(t.Context(), name); err == nil {
					t.Errorf("workspace %s: described %s", tt.dir, name)
				}
				if _, err := g.WriteFile(t.Context(), name, []byte("x")); err == nil {
					t.Errorf("workspace %s: wrote %s", tt.dir, name)
				}
			}
		}
	}
	if text, err := os.ReadFile("secret.txt"); string(text) != canary {
		t.Errorf("the file outside is %q, %v", text, err)
	}
}

// The parent of the storage is swapped for another directory while it is walked
// through: the place of the storage moves, and what tells it is what it is. (Whatever was
// seen at the path of the storage stays out of reach, so in the end both are.)
func TestParentOfProtectedMoves(t *testing.T) {
	h := newFixture(t)
	store := filepath.Join(h.dir, "data", "store")
	put(t, filepath.Join(store, "jobs", "j1"), canary)
	put(t, filepath.Join(h.dir, "other", "store", "jobs", "j1"), "decoy")
	g := open(t, h.dir, store)
	var moves atomic.Int64
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				exchange(filepath.Join(h.dir, "data"), filepath.Join(h.dir, "other"))
				moves.Add(1)
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	for i := 0; i < 3000 || moves.Load() < 1000; i++ {
		for _, dir := range []string{"other/store", "other/store/jobs"} {
			if l, err := g.ReadDir(t.Context(), dir, 0, 10); err == nil && len(l.Entries) > 0 && l.Entries[0].Size == int64(len(canary)) {
				t.Fatal("the storage was listed")
			}
		}
		got, err := g.read("other/store/jobs/j1")
		if err != nil {
			wantCode(t, err, workspace.Protected, "history and the state of perstack")
		} else if got != "decoy" {
			t.Fatalf("read %q", got)
		}
	}
}
