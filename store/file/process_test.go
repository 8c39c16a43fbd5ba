//go:build unix

package file

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/storetest"
)

// Some tests need a second process. They start the test binary again with the name of
// a role in its environment.
const roleVariable = "PERSTACK_TEST_ROLE"

var roles = map[string]func(s *Store) error{
	"writer":   endlessWriter,
	"limited":  limitedWriter,
	"full":     fullOpener,
	"killedAt": killedAt,
}

func TestMain(m *testing.M) {
	role, ok := roles[os.Getenv(roleVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(New(os.Args[1], nil)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child starts this binary in a role, and returns what it prints.
func child(t *testing.T, role string, s *Store, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, append([]string{s.dir}, args...)...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); io.Copy(io.Discard, out); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

// endlessWriter appends until it is killed, and says after each record that it did.
func endlessWriter(s *Store) error {
	ctx := context.Background()
	j, err := s.Open(ctx, "job1")
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		e := storetest.Note("job1", i, strings.Repeat("x", 20*(i%200)))
		if i == 0 {
			e = storetest.Sample("job1")[1]
		}
		r, err := j.Append(ctx, e)
		if err != nil {
			return err
		}
		if i%7 == 0 {
			if err := j.Commit(ctx); err != nil {
				return err
			}
		}
		fmt.Printf("%d %4000s\n", r.Seq, "") // long, so that it cannot run far ahead of its reader
	}
}

func TestSecondProcess(t *testing.T) {
	s, _, _ := sampleJob(t)
	cmd, out := child(t, "writer", s)
	if !out.Scan() {
		t.Fatal("the writer wrote nothing")
	}
	_, err := s.Open(t.Context(), "job1")
	want := fmt.Sprintf("job job1 is being written by another process (pid %d, since 2", cmd.Process.Pid)
	if !errors.Is(err, store.ErrLocked) || !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "): wait for it or stop it") {
		t.Errorf("%v, want %s", err, want)
	}
	if info, err := s.FindJob(t.Context(), "job1"); err != nil || info.Interrupted || info.Status != event.JobRunning {
		t.Errorf("while it lives: %+v, %v", info, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if info, err := s.FindJob(t.Context(), "job1"); err != nil || !info.Interrupted {
		t.Errorf("after its death: %+v, %v", info, err)
	}
	mustClose(t, mustOpen(t, s))
}

// The death of a process at any moment loses no record that it had appended.
func TestKilledWriter(t *testing.T) {
	s, _, _ := sampleJob(t)
	for round := range 15 {
		cmd, out := child(t, "writer", s)
		var seq int64
		for i := 0; out.Scan(); i++ { // what it said before it died counts
			if n, err := fmt.Sscan(out.Text(), &seq); n != 1 {
				t.Fatalf("%v: %s", err, out.Text())
			}
			if i == 7*round {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		if n := count(t, s); n < seq {
			t.Fatalf("round %d: %d records are left of %d", round, n, seq)
		}
		mustClose(t, mustOpen(t, s))
		if n := count(t, s); n < seq {
			t.Fatalf("round %d: opening left %d records of %d", round, n, seq)
		}
	}
}

// limitedWriter meets a limit for the size of its files, which is the poor man's full disk.
func limitedWriter(s *Store) error {
	ctx := context.Background()
	const limit = 600 << 10
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	j, err := s.Open(ctx, "job1")
	if err != nil {
		return err
	}
	return fillUp(ctx, j)
}

// fillUp appends until the journal is full, then writes the end of the run. It checks
// on the way that the journal behaves as promised, and prints how many records it has.
func fillUp(ctx context.Context, j store.Journal) error {
	var last int64
	for _, size := range []int{3000, 1, 3000, 1} { // when it is full for large records, small ones may fit
		for i := 0; ; i++ {
			r, err := j.Append(ctx, storetest.Note("job1", i, strings.Repeat("x", size)))
			if errors.Is(err, store.ErrFull) {
				if !strings.Contains(err.Error(), "free some space, then continue the job") {
					return fmt.Errorf("no hint: %w", err)
				}
				break
			}
			if err != nil || i > 10_000 {
				return fmt.Errorf("append %d: %w", i, err)
			}
			last = r.Seq
		}
	}
	end := storetest.Note("job1", 0, "")
	end.Body = event.StopRunByError{Error: event.Failure{Name: "Error", Message: strings.Repeat("full ", 5000)}}
	r, err := j.Append(ctx, end)
	if err != nil || r.Seq != last+1 {
		return fmt.Errorf("the end: record %d after %d, %w", r.Seq, last, err)
	}
	if err := j.Commit(ctx); err != nil {
		return err
	}
	fmt.Println(r.Seq)
	return j.Close()
}

func TestFileSizeLimit(t *testing.T) {
	s, _, _ := sampleJob(t)
	cmd, out := child(t, "limited", s)
	var text string
	for out.Scan() {
		text = out.Text()
	}
	seq, err := strconv.ParseInt(text, 10, 64)
	if wait := cmd.Wait(); wait != nil || err != nil {
		t.Fatalf("%s (%v)", text, wait)
	}
	if n := count(t, s); n != seq {
		t.Errorf("%d records, want %d", n, seq)
	}
	if info, err := s.FindJob(t.Context(), "job1"); err != nil || info.Status != event.JobStoppedByError {
		t.Errorf("%+v, %v", info, err)
	}
	j := mustOpen(t, s)
	mustAppend(t, j, storetest.Note("job1", 1, "goes on"))
	mustClose(t, j)
	if n := count(t, s); n != seq+1 {
		t.Errorf("%d records, want %d", n, seq+1)
	}
}

// fullOpener finds no space for anything, and reports what Open returns then.
func fullOpener(s *Store) error {
	signal.Ignore(syscall.SIGXFSZ) // or the first write would end the process
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 1, Max: 1}); err != nil {
		return err
	}
	_, err := s.Open(context.Background(), "job1")
	if !errors.Is(err, store.ErrFull) {
		return fmt.Errorf("%w, want ErrFull", err)
	}
	fmt.Println(err)
	return nil
}

// What to do about a full disk depends on whether there is a job. Nothing half-written
// stays behind.
func TestFullFromTheStart(t *testing.T) {
	begun, _, _ := sampleJob(t)
	unnamed := New(filepath.Join(fastDir(t), "history"), nil)
	empty := New(filepath.Join(fastDir(t), "history"), nil)
	writeFile(t, filepath.Join(empty.dir, ignoreName), []byte("*\n"))
	for s, want := range map[*Store]string{
		begun:   "free some space, then continue the job",
		unnamed: "free some space and start again",
		empty:   "free some space and start again",
	} {
		cmd, out := child(t, "full", s)
		var text string
		for out.Scan() {
			text += out.Text()
		}
		if err := cmd.Wait(); err != nil || !strings.HasSuffix(text, want) {
			t.Errorf("%s (%v), want %s", text, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(unnamed.dir, ignoreName)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the full disk left an unfinished .gitignore (%v)", err)
	}
	mustClose(t, mustOpen(t, unnamed))
	if got := string(readFile(t, filepath.Join(unnamed.dir, ignoreName))); got != "*\n" {
		t.Errorf("when there is space again, .gitignore holds %q", got)
	}
}
