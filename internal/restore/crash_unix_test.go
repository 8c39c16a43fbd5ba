//go:build unix

package restore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/restore"
	"github.com/perstack-go/perstack/internal/state"
	"github.com/perstack-go/perstack/internal/workspace/rewind"
)

// A restore is killed at each of its steps. The next job that starts there finishes it, and so does
// the next restore. --abort goes back to the state before. Both can be killed as well.
func TestKilledRestores(t *testing.T) {
	for _, abort := range []bool{false, true} {
		began, stride := 0, 1
		if testing.Short() {
			stride = 7
		}
		for step := 1; ; step += stride {
			f, before, after := prepared(t)
			f.leaveNote()
			killed := f.die("restore", step)
			f.write("mine", "user")
			f.check(os.WriteFile(filepath.Join(before, "mine"), []byte("user"), 0o644))
			f.check(os.WriteFile(filepath.Join(after, "mine"), []byte("user"), 0o644))
			begun := f.begun()
			if begun && step%3 == 0 { // the next process dies, too
				verb := "enter"
				if abort {
					verb = "abort"
				}
				f.die(verb, 1+step/3)
			}
			want := after
			if begun && !abort || !killed {
				want = before
			}
			if begun {
				began++
			}
			if f.begun() { // the second process did not finish it either
				f.settle(abort)
			}
			f.same(want, fmt.Sprintf("abort %v, step %d", abort, step))
			if left, err := filepath.Glob(f.path(".perstack-*")); err != nil || len(left) > 0 {
				t.Fatalf("step %d: %v is left, %v", step, left, err)
			}
			s := f.open()
			if s.History.OpenRestore() != nil {
				t.Errorf("step %d: the restore is still open", step)
			}
			f.check(s.Close())
			if !killed {
				if began < 10/stride {
					t.Errorf("only %d restores were interrupted", began)
				}
				break
			}
		}
	}
}

// prepared returns a job whose run can be undone, and copies of the workspace before and after it.
func prepared(t *testing.T) (f *fixture, before, after string) {
	f = newFixture(t)
	f.sh("mkdir -p src closed; echo a > src/a; echo b > b; ln -s b link; echo c > closed/c; chmod 555 closed")
	t.Cleanup(func() { _ = os.Chmod(f.path("closed"), 0o755) })
	before = f.copy()
	f.run("task", func(w *work) {
		w.call(func() {
			f.sh("echo job > src/a; rm b; mkdir -p b/c; rm link; echo job > link; chmod 755 closed; echo job > closed/c; chmod 555 closed; echo more > more; chmod 600 src/a")
		})
	})
	return f, before, f.copy()
}

// leaveNote leaves a note about a restore that was not written to its end.
func (f *fixture) leaveNote() {
	f.t.Helper()
	path, err := state.Dir(f.stateDir).WorkspaceLock(f.dir)
	f.check(err)
	f.check(os.MkdirAll(filepath.Dir(path), 0o700))
	f.check(os.WriteFile(path, []byte(`{"storage":"`+strings.Repeat("x", 5000)), 0o600))
}

// begun reports whether a restore has begun and not ended.
func (f *fixture) begun() bool {
	h, err := engine.Load(f.t.Context(), f.journals(), jobID)
	f.check(err)
	return h.OpenRestore() != nil
}

// settle does what the next command does.
func (f *fixture) settle(abort bool) {
	f.t.Helper()
	if abort {
		o := f.options()
		o.Abort = true
		s, err := restore.Open(f.t.Context(), o)
		f.check(err)
		f.check(s.Close())
		return
	}
	lock, err := restore.Enter(f.t.Context(), f.stateDir, f.dir)
	f.check(err)
	f.check(lock.Close())
}

const childVariable = "PERSTACK_TEST_RESTORE"

// die does something in another process, which kills itself at a step, and reports whether it was
// killed.
func (f *fixture) die(verb string, step int) bool {
	f.t.Helper()
	out, err := f.child(verb, step).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	if err != nil {
		f.t.Fatalf("%v: %s", err, out)
	}
	return false
}

// child is this program, which does something and kills itself at a step; never with 0.
func (f *fixture) child(verb string, step int) *exec.Cmd {
	f.t.Helper()
	place, err := json.Marshal(f.place)
	f.check(err)
	cmd := exec.Command(os.Args[0], verb, f.stateDir, f.dir, string(place), strconv.Itoa(step))
	cmd.Env = append(os.Environ(), childVariable+"=1")
	return cmd
}

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := act(os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func act(args []string) error {
	step, err := strconv.Atoi(args[4])
	if err != nil {
		return err
	}
	var place restore.Place
	if err := json.Unmarshal([]byte(args[3]), &place); err != nil {
		return err
	}
	ctx := &deadly{Context: context.Background(), left: step}
	if args[0] == "enter" {
		lock, err := restore.Enter(ctx, args[1], args[2])
		return errors.Join(err, lock.Close())
	}
	s, err := restore.Open(ctx, restore.Options{State: args[1], Place: place, Job: jobID, Source: engine.SystemSource(), Abort: args[0] == "abort"})
	if err != nil || args[0] == "abort" {
		return err
	}
	plan, err := s.Plan(ctx, s.History.Files()[0], rewind.Options{})
	if err != nil {
		return err
	}
	_, err = s.Apply(ctx, plan)
	return err
}

// A deadly context kills the process when it is asked for the last time.
type deadly struct {
	context.Context
	left int
}

func (d *deadly) Err() error {
	if d.left--; d.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return nil
}
