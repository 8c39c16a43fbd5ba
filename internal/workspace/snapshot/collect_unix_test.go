//go:build unix

package snapshot_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/workspace/snapshot"
)

func these(roots ...snapshot.ID) func() ([]snapshot.ID, error) {
	return func() ([]snapshot.ID, error) { return roots, nil }
}

// Random snapshots of which some are dropped: what stays can be read whole, and what goes is gone.
func TestCollectKeepsWhatIsNeeded(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	store := t.TempDir()
	f.reopen(store, snapshot.Defaults())
	random := rand.New(rand.NewPCG(1, 2))
	kept := map[snapshot.ID]map[string]string{}
	var roots []snapshot.ID
	for i := range 40 {
		for range 5 {
			content := make([]byte, random.IntN(20_000))
			for i := range content {
				content[i] = byte(random.Uint32())
			}
			f.write(fmt.Sprintf("d%d/f%d", random.IntN(4), random.IntN(10)), string(content))
		}
		s := f.take()
		if i%5 == 0 {
			roots = append(roots, s.Tree)
			kept[s.Tree] = f.list(s.Tree)
		}
	}
	if _, err := snapshot.Collect(store, these(roots...)); !errors.Is(err, snapshot.ErrInUse) {
		t.Errorf("collected in a store that is open: %v", err)
	}
	if err := errors.Join(f.taker.Close(), f.store.Close()); err != nil {
		t.Fatal(err)
	}
	before := size(t, store)
	free, err := snapshot.Collect(store, these(roots...))
	if err != nil {
		t.Fatal(err)
	}
	after := size(t, store)
	if free <= 0 || before-after < free {
		t.Errorf("%d bytes before, %d after, %d reported as free", before, after, free)
	}
	f.reopen(store, snapshot.Defaults())
	for root, want := range kept {
		if err := f.store.Verify(root); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, f.list(root)); diff != "" {
			t.Error(diff)
		}
	}
	// What the index knew is gone, so that the next snapshot stores everything that it names.
	if err := f.store.Verify(f.take().Tree); err != nil {
		t.Error(err)
	}
	if err := errors.Join(f.taker.Close(), f.store.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Collect(store, these()); err != nil {
		t.Fatal(err)
	}
	if names, err := filepath.Glob(filepath.Join(store, "packs", "*")); err != nil || len(names) != 0 {
		t.Errorf("nothing is needed, and there are %v, %v", names, err)
	}
}

// While it is found out what is needed, no process can store something that would be lost.
func TestCollectIsAlone(t *testing.T) {
	store := t.TempDir()
	f := newFixture(t, snapshot.Defaults())
	f.reopen(store, snapshot.Defaults())
	f.write("x", "something")
	f.take()
	if err := errors.Join(f.taker.Close(), f.store.Close()); err != nil {
		t.Fatal(err)
	}
	_, err := snapshot.Collect(store, func() ([]snapshot.ID, error) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // it does not wait
		if _, err := snapshot.Open(ctx, store); !errors.Is(err, snapshot.ErrInUse) {
			t.Errorf("the store can be opened: %v", err)
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An index can name objects that were removed, while the tree that it ends in is still there.
func TestCollectForgetsWhatWasSeen(t *testing.T) {
	ahead := snapshot.Defaults()
	snapshot.SetClock(&ahead, func() time.Time { return time.Now().Add(time.Minute) })
	store := t.TempDir()
	f := newFixture(t, ahead)
	f.reopen(store, ahead)
	f.write("x", "something")
	f.take()
	large := make([]byte, 10_000) // that cannot be compressed
	random := rand.New(rand.NewPCG(1, 2))
	for i := range large {
		large[i] = byte(random.Uint32())
	}
	f.write("large", string(large))
	f.take()
	if err := os.Rename(f.path("x"), filepath.Join(t.TempDir(), "x")); err != nil {
		t.Fatal(err)
	}
	needed := f.take().Tree
	f.write("x", "something")
	f.take()
	if err := errors.Join(f.taker.Close(), f.store.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := snapshot.Collect(store, these(needed)); err != nil {
		t.Fatal(err)
	}
	f.reopen(store, ahead)
	if err := f.store.Verify(f.take().Tree); err != nil {
		t.Error(err)
	}
}

// A process that takes snapshots is killed. What it reported can be read, and the next one continues.
func TestKilledTakers(t *testing.T) {
	dir, store := t.TempDir(), t.TempDir()
	random := rand.New(rand.NewPCG(5, 6))
	var trees []snapshot.ID
	for range 12 {
		cmd := exec.Command(os.Args[0], dir, store)
		cmd.Env = append(os.Environ(), childVariable+"=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines, most := bufio.NewScanner(out), 1+random.IntN(8)
		for n := 0; n < most && lines.Scan(); n++ {
			id, err := snapshot.ParseID(lines.Text())
			if err != nil {
				t.Fatal(err)
			}
			trees = append(trees, id)
		}
		_ = cmd.Process.Kill() // while it takes the next
		_ = cmd.Wait()
	}
	if len(trees) < 12 {
		t.Fatalf("only %d snapshots were taken", len(trees))
	}
	s, err := snapshot.Open(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, tree := range trees {
		if err := s.Verify(tree); err != nil {
			t.Error(err)
		}
	}
}

const childVariable = "PERSTACK_TEST_SNAPSHOT"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := takeForEver(os.Args[1], os.Args[2]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func takeForEver(dir, store string) error {
	s, err := snapshot.Open(context.Background(), store)
	if err != nil {
		return err
	}
	taker := s.Taker(dir, snapshot.Defaults())
	for i := 0; ; i++ {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i%7)), fmt.Append(nil, os.Getpid(), i), 0o600); err != nil {
			return err
		}
		taken, err := taker.Take(context.Background())
		if err != nil {
			return err
		}
		fmt.Println(taken.Tree)
	}
}

// A file that never stops changing is captured, and named.
func TestEndlessWriter(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	file, err := os.Create(f.path("log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_, _ = file.WriteAt(fmt.Append(nil, i), int64(i%100_000))
			}
		}
	}()
	torn := false
	for range 1000 {
		s := f.take()
		if torn = slices.Contains(s.Torn, "log"); torn {
			break
		}
	}
	close(stop)
	<-stopped
	if !torn {
		t.Error("no snapshot said that the file changed while it was read")
	}
	if s := f.take(); len(s.Torn) != 0 {
		t.Errorf("the file does not change any more: %v", s.Torn)
	}
}

func size(t *testing.T, dir string) (sum int64) {
	names, err := filepath.Glob(filepath.Join(dir, "packs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

func TestManyPacksAreMerged(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	store := t.TempDir()
	f.reopen(store, snapshot.Defaults())
	var trees []snapshot.ID
	for i := range 70 {
		f.write("f", fmt.Sprint(i))
		trees = append(trees, f.take().Tree)
	}
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	f.reopen(store, snapshot.Defaults())
	for i, tree := range trees {
		if got, want := f.list(tree)["f"], fmt.Sprintf("file 644 %d", i); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if names, err := filepath.Glob(filepath.Join(store, "packs", "*")); err != nil || len(names) != 16 {
		t.Errorf("%d packs are left, %v", len(names), err)
	}
}

// Jobs that start at the same time share a store that has to be merged.
func TestOpenAtTheSameTime(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	store := t.TempDir()
	f.reopen(store, snapshot.Defaults())
	for i := range 66 {
		f.write("f", fmt.Sprint(i))
		f.take()
	}
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := snapshot.Open(t.Context(), store)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestDamageIsNoticed(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	store := t.TempDir()
	f.reopen(store, snapshot.Defaults())
	f.write("f", "some content that is long enough to be recognised")
	tree := f.take().Tree
	if err := f.store.Close(); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(store, "packs", "*"))
	if err != nil || len(packs) != 1 {
		t.Fatal(packs, err)
	}
	data, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		damaged := append([]byte(nil), data...)
		damaged[i] ^= 0x40
		if err := os.WriteFile(packs[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		f.reopen(store, snapshot.Defaults())
		if err := f.store.Verify(tree); err == nil {
			t.Errorf("byte %d was changed, and nothing noticed it", i)
		}
		f.store.Close()
	}
}

func TestDiff(t *testing.T) {
	f := newFixture(t, snapshot.Defaults())
	for _, name := range []string{"same", "changed", "removed", "dir/same", "dir/changed", "gone/a", "kind"} {
		f.write(name, "1")
	}
	before := f.take().Tree
	f.write("changed", "2")
	f.write("dir/changed", "2")
	f.write("new/deep/file", "2")
	for _, err := range []error{
		os.Remove(f.path("removed")), os.RemoveAll(f.path("gone")), os.Chmod(f.path("dir"), 0o700),
		os.Remove(f.path("kind")), os.Mkdir(f.path("kind"), 0o755), os.Symlink("x", f.path("kind/link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	changes, err := f.store.Diff(before, f.take().Tree)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		switch {
		case c.Before == nil:
			got = append(got, "A "+c.Path)
		case c.After == nil:
			got = append(got, "D "+c.Path)
		default:
			got = append(got, "M "+c.Path)
		}
	}
	want := []string{
		"M changed", "M dir", "M dir/changed", "D gone", "D gone/a", "M kind", "A kind/link", "A new", "A new/deep", "A new/deep/file", "D removed",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
