package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox/disk"
)

const (
	wasteBytes = 200 << 20 // what an attack uses up
	wasteLimit = 64 << 20
	wasteFiles = 3000
)

// playWaste uses up disk or memory in one way. Then it says so and ends, or waits for its end.
func playWaste(how, then string) int {
	release, err := wastes[how]()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if then == "wait" {
		for { // until it is killed
			_, _ = unix.Poll(nil, -1)
		}
	}
	release()
	fmt.Println("wasted")
	return 0
}

// wastes are the attacks. Each returns what frees what it holds.
var wastes = map[string]func() (func(), error){
	"one file": func() (func(), error) { f, err := bigFile("big"); return closing(f), err },
	"small files": func() (func(), error) {
		for i := range 2000 {
			dir := fmt.Sprintf("d%d/e%d", i%7, i%50)
			if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(fmt.Sprintf("%s/%d", dir, i), make([]byte, wasteBytes/2000), 0o644)); err != nil {
				return nil, err
			}
		}
		return func() {}, nil
	},
	"unlinked file": func() (func(), error) {
		f, err := bigFile("gone")
		return closing(f), errors.Join(err, os.Remove("gone"))
	},
	"unlinked file of a process that cannot be read": func() (func(), error) {
		f, err := bigFile("gone")
		return closing(f), errors.Join(err, os.Remove("gone"), unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	},
	"mapped file": func() (func(), error) {
		f, err := bigFile("gone")
		if err != nil {
			return nil, err
		}
		m, err := unix.Mmap(int(f.Fd()), 0, 4096, unix.PROT_READ, unix.MAP_SHARED)
		return func() { runtime.KeepAlive(m) }, errors.Join(err, f.Close(), os.Remove("gone"))
	},
	"unlinked file without a first thread": func() (func(), error) {
		f, err := bigFile("gone")
		endFirstThread()
		return closing(f), errors.Join(err, os.Remove("gone"))
	},
	"closed directory": func() (func(), error) {
		if err := os.Mkdir("closed", 0o300); err != nil {
			return nil, err
		}
		f, err := bigFile("closed/big")
		return closing(f), err
	},
	"inodes": func() (func(), error) {
		for i := range wasteFiles {
			if err := os.WriteFile(strconv.Itoa(i), nil, 0o644); err != nil {
				return nil, err
			}
		}
		return func() {}, nil
	},
	"memory": func() (func(), error) {
		m := touched(make([]byte, wasteBytes))
		return func() { runtime.KeepAlive(m) }, nil
	},
	"memory without a first thread": func() (func(), error) {
		m := touched(make([]byte, wasteBytes))
		endFirstThread()
		return func() { runtime.KeepAlive(m) }, nil
	},
	"memory of children": func() (func(), error) {
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		var all []*exec.Cmd
		for range 8 {
			c := exec.Command(exe, act+"waste", "a little memory", "wait")
			c.SysProcAttr = &unix.SysProcAttr{Setsid: true}
			if err := c.Start(); err != nil {
				return nil, err
			}
			all = append(all, c)
		}
		return func() {
			for _, c := range all {
				_ = c.Process.Kill()
				_ = c.Wait()
			}
		}, nil
	},
	"a little memory": func() (func(), error) {
		m := touched(make([]byte, wasteBytes/8))
		return func() { runtime.KeepAlive(m) }, nil
	},
	"shared memory": func() (func(), error) {
		m, err := unix.Mmap(-1, 0, wasteBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANON)
		return func() { runtime.KeepAlive(touched(m)) }, errors.Join(err, touch(m))
	},
	"file in memory": func() (func(), error) {
		fd, err := unix.MemfdCreate("waste", 0)
		if err != nil {
			return nil, err
		}
		f := os.NewFile(uintptr(fd), "waste")
		return closing(f), fill(f)
	},
}

// endFirstThread ends the first thread: the kernel shows the process as ended.
func endFirstThread() {
	go onFirstThread(func() { _, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0) })
	for {
		if stat, err := os.ReadFile("/proc/self/stat"); err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func closing(f *os.File) func() { return func() { f.Close() } }

func touched(m []byte) []byte {
	for i := 0; i < len(m); i += 4096 {
		m[i] = 1
	}
	return m
}

func touch(m []byte) error { touched(m); return nil }

func bigFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return f, fill(f)
}

func fill(f *os.File) error {
	chunk := make([]byte, 1<<20)
	for range wasteBytes / len(chunk) {
		if _, err := f.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// levels gives a command each of the levels.
func levels(t *testing.T, each func(t *testing.T, at func(*testing.T, Command) Command)) {
	t.Run("landlock", func(t *testing.T) { each(t, confined) })
	t.Run("full", func(t *testing.T) { each(t, inside) })
}

// SEC-007: a program that uses up the disk or the memory is killed, whatever it does to hide it.
// Without limits each of them succeeds.
func TestWaste(t *testing.T) {
	for how, want := range map[string]string{
		"one file":      "more than 64 MiB added to the disk",
		"small files":   "more than 64 MiB added to the disk",
		"unlinked file": "more than 64 MiB added to the disk",
		"unlinked file of a process that cannot be read": "more than 64 MiB added to the disk",
		"mapped file":                          "more than 64 MiB added to the disk",
		"unlinked file without a first thread": "more than 64 MiB added to the disk",
		"closed directory":                     "more than 64 MiB added to the disk",
		"inodes":                               "more than 1000 files added to the disk",
		"memory":                               "more than 64 MiB of memory",
		"memory of children":                   "more than 64 MiB of memory",
		"memory without a first thread":        "more than 64 MiB of memory",
		"shared memory":                        "more than 64 MiB of memory",
		"file in memory":                       "more than 64 MiB of memory",
	} {
		t.Run(how, func(t *testing.T) {
			levels(t, func(t *testing.T, at func(*testing.T, Command) Command) {
				free := at(t, self(t, "waste", how, "end"))
				if o := run(t, free); o.Stdout.String() != "wasted\n" {
					t.Fatalf("without a limit: %+v", o)
				}
				c := at(t, self(t, "waste", how, "wait"))
				c.Timeout = 2 * time.Minute
				openAgain(t, free.Dir, c.Dir)
				c.Policy.Limits.Memory = wasteLimit
				if !strings.Contains(want, "memory") {
					c.Policy.Limits.Memory = 0
				}
				s, told := limited(t)
				o, err := s.Run(t.Context(), c)
				if err != nil || o.Exceeded != want || o.Signal != "SIGKILL" {
					t.Errorf("outcome %+v, %v", o, err)
				}
				if all := told(); len(all) != 1 || all[0].Text != want || strings.Contains(want, "memory") != (all[0].Limit == event.LimitMemory) {
					t.Errorf("told %+v", all)
				}
			})
		})
	}
}

// openAgain lets the test remove a directory that an attack has closed.
func openAgain(t *testing.T, dirs ...string) {
	t.Cleanup(func() {
		for _, dir := range dirs {
			if err := os.Chmod(filepath.Join(dir, "closed"), 0o700); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Error(err)
			}
		}
	})
}

// limited returns a supervisor with limits on the disk, and what it told.
func limited(t *testing.T) (*Supervisor, func() []Excess) {
	t.Helper()
	var mu sync.Mutex
	var all []Excess
	s := supervisor(t)
	s.LimitDisk(disk.Limits{Bytes: wasteLimit, Files: 1000})
	s.OnExcess(func(e Excess) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, e)
	})
	return s, func() []Excess {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// After a stop, commands can delete what they left, and then work again. All programs of a job
// have one limit together, and a server is killed like a command.
func TestWasteTogether(t *testing.T) {
	levels(t, func(t *testing.T, at func(*testing.T, Command) Command) {
		c := at(t, self(t, "waste", "one file", "wait"))
		c.Timeout = 2 * time.Minute
		s, told := limited(t)
		idle := Server(sh(c, "sleep 3600"))
		r := started(t, s, idle)
		if o, err := s.Run(t.Context(), c); err != nil || o.Exceeded == "" {
			t.Fatalf("outcome %+v, %v", o, err)
		}
		<-r.Done()
		if got, want := r.Exit(), "ended: more than 64 MiB added to the disk"; got != want {
			t.Errorf("the server: %q, want %q", got, want)
		}
		if o, err := s.Run(t.Context(), sh(c, "sleep 1; rm big; echo removed")); err != nil || o.Stdout.String() != "removed\n" {
			t.Errorf("deleting it: %+v, %v", o, err)
		}
		if o, err := s.Run(t.Context(), sh(c, "head -c 30000000 /dev/zero >small; sleep 1; echo made")); err != nil || o.Stdout.String() != "made\n" {
			t.Errorf("a small file: %+v, %v", o, err)
		}
		if o, err := s.Run(t.Context(), c); err != nil || o.Exceeded == "" {
			t.Errorf("again: %+v, %v", o, err)
		}
		if all := told(); len(all) != 2 {
			t.Errorf("told %+v", all)
		}
	})
}

// A command that stays within the limit is not stopped, however large the workspace is.
func TestNoWaste(t *testing.T) {
	levels(t, func(t *testing.T, at func(*testing.T, Command) Command) {
		c := at(t, shell(t, `cat old >/dev/null; head -c 40000000 /dev/zero >new; sleep 1; echo done`))
		f, err := bigFile(filepath.Join(c.Dir, "old"))
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		s, told := limited(t)
		if o, err := s.Run(t.Context(), c); err != nil || o.Stdout.String() != "done\n" || len(told()) > 0 {
			t.Errorf("%+v, %v, %v", o, err, told())
		}
	})
}
