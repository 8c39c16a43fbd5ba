package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/testkit"
)

// confined gives a command a policy under which it can use its own directory, and the test
// program be run.
func confined(t *testing.T, c Command) Command {
	t.Helper()
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.Policy = &policy.Policy{Level: expert.SandboxLandlock, Read: append(landlock.SystemPaths(), exe), Write: append(landlock.WritableDevices(), c.Dir)}
	return c
}

// A program does not notice, at any level, how it came into its sandbox: what it gets is what it would get
// without, down to its descriptors and signals.
func TestPolicyChangesNothingElse(t *testing.T) {
	dir := t.TempDir()
	status := regexp.MustCompile(`(?m)^(SigBlk|SigIgn|SigCgt|SigPnd|ShdPnd|Umask|Uid|Gid|CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs):.*$`)
	for name, tt := range map[string]struct {
		command Command
		keep    *regexp.Regexp // of the output; nil for all
	}{
		"arguments":   {self(t, "args", "$HOME", "", "a b", "\xff\n"), nil},
		"name":        {Command{Program: "sh", Args: []string{"-c", `echo "$0" "$@"`, "zero", "one"}}, nil},
		"own name":    {Command{Program: "cat", Args: []string{"/proc/self/cmdline", "/proc/self/comm"}}, nil},
		"environment": {Command{Program: "cat", Args: []string{"/proc/self/environ"}, Env: map[string]string{"A": "b\nc"}, Set: map[string]string{gitWithoutSystem: "1"}}, nil},
		"directory":   {Command{Program: "/bin/pwd"}, nil},
		"descriptors": {Command{Program: "ls", Args: []string{"/proc/self/fd"}}, nil},
		"signals":     {Command{Program: "cat", Args: []string{"/proc/self/status"}}, status},
		"no input":    {Command{Program: "cat"}, nil},
		"exit":        {Command{Program: "sh", Args: []string{"-c", "exit 7"}}, nil},
		"killed":      {Command{Program: "sh", Args: []string{"-c", "kill -SEGV $$"}}, nil},
		"session":     {Command{Program: "sh", Args: []string{"-c", `read -r a b c parent group session rest </proc/self/stat; [ $$ = $group ] && [ $$ = $session ] && echo own`}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := tt.command
			c.Dir, c.Environ, c.Policy = dir, os.Environ(), off()
			s := supervisor(t)
			said := func(c Command) string {
				o, err := s.Run(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				out := o.Stdout.String()
				if tt.keep != nil {
					out = strings.Join(tt.keep.FindAllString(out, -1), "\n")
				}
				return fmt.Sprintf("exit %d %s\n%s%s", o.ExitCode, o.Signal, out, o.Stderr)
			}
			free := said(c)
			full := inside(t, c)
			full.Set = c.Set
			for level, c := range map[string]Command{"landlock": confined(t, c), "full": full} {
				if locked := said(c); free != locked {
					t.Errorf("without a sandbox:\n%s\nat level %s:\n%s", free, level, locked)
				}
			}
			if name == "session" && free != "exit 0 \nown\n" {
				t.Errorf("session: %s", free)
			}
			if name == "descriptors" && free != "exit 0 \n0\n1\n2\n3\n" { // the last is the list itself
				t.Errorf("descriptors:\n%s", free)
			}
		})
	}
}

// An open directory is where it starts, inside too.
func TestPolicyOpenDir(t *testing.T) {
	c := confined(t, shell(t, "/bin/pwd; echo x >here"))
	dir, err := os.Open(c.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	moved := c.Dir + "-moved"
	if err := os.Rename(c.Dir, moved); err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(moved)
	c.OpenDir, c.Policy.Write = dir, append(landlock.WritableDevices(), moved)
	if o := run(t, c); o.Stdout.String() != moved+"\n" || o.ExitCode != 0 {
		t.Errorf("outcome %+v", o)
	}
}

// What keeps a program from starting in its sandbox is said, and not taken for something else.
func TestPolicyCannotStart(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	script := func(dir, name, first string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(first+"\necho ran\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name, program string
		want          error
		says          string
	}{
		{"outside", script(outside, "tool", "#!/bin/sh", 0o755), ErrOutside, `in its sandbox`},
		{"interpreter outside", script(inside, "outside", "#!"+filepath.Join(outside, "tool"), 0o755), ErrOutside, `#! line`},
		{"not executable", script(inside, "plain", "#!/bin/sh", 0o644), ErrPermission, "not executable"},
		{"not executable outside", script(outside, "plain", "#!/bin/sh", 0o644), ErrPermission, "not executable"},
		{"interpreter missing", script(inside, "lost", "#!/no/such/interpreter", 0o755), ErrNotFound, "its interpreter"},
		{"missing", filepath.Join(inside, "none"), ErrNotFound, "program not found"},
		{"no format", script(inside, "text", "", 0o755), ErrFormat, "#! line"},
		{"fine", script(inside, "tool", "#!/bin/sh", 0o755), nil, ""},
	}
	s := supervisor(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := confined(t, Command{Program: tt.program, Dir: inside, Environ: os.Environ()})
			o, err := s.Run(t.Context(), c)
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err == nil && o.Stdout.String() != "ran\n" {
				t.Errorf("outcome %+v", o)
			}
			if _, err := s.Start(t.Context(), Server{Program: c.Program, Dir: c.Dir, Environ: c.Environ, Policy: c.Policy}); !errors.Is(err, tt.want) {
				t.Errorf("as a server: %v, want %v", err, tt.want)
			}
			if errors.Is(tt.want, ErrOutside) { // so the test can fail
				c.Policy = off()
				if o, err := s.Run(t.Context(), c); err != nil || o.ExitCode != 0 {
					t.Errorf("without a policy: %+v, %v", o, err)
				}
			}
		})
	}
}

// A policy that cannot be applied starts nothing, says why, and does not affect other programs.
func TestPolicyCannotBeMade(t *testing.T) {
	s := supervisor(t)
	long := "/" + strings.Repeat(strings.Repeat("x", 200)+"/", 18) + "none"
	for _, tt := range []struct {
		write, says string
		want        error
	}{
		{"/no/such/place", "/no/such/place: no such file", nil},
		{long, "xxx", nil},
		{"relative", "absolute", ErrInvalid},
	} {
		c := confined(t, shell(t, "echo ran >ran"))
		c.Policy.Write = append(c.Policy.Write, tt.write)
		_, err := s.Run(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), tt.says) || errors.Is(err, ErrNotFound) || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%v", err)
		}
		if _, err := os.Stat(filepath.Join(c.Dir, "ran")); err == nil {
			t.Error("it ran")
		}
		if o, err := s.Run(t.Context(), shell(t, "echo fine")); err != nil || o.Stdout.String() != "fine\n" {
			t.Errorf("outcome %+v, %v", o, err)
		}
	}
}

// As much as fits into a message can be asked for; more is refused as by the system.
func TestPolicyTooLong(t *testing.T) {
	s := supervisor(t)
	for _, args := range [][]string{
		{strings.Repeat("x", 9<<20)},                             // more than a message may have
		slices.Repeat([]string{strings.Repeat("x", 1<<16)}, 120), // more than the kernel takes
	} {
		c := confined(t, Command{Program: "true", Args: args, Dir: t.TempDir(), Environ: os.Environ()})
		if _, err := s.Run(t.Context(), c); !errors.Is(err, syscall.E2BIG) {
			t.Errorf("error %v", err)
		}
	}
	c := confined(t, shell(t, "echo fine"))
	for i := range 20_000 {
		c.Policy.Read = append(c.Policy.Read, fmt.Sprintf("/no/such/place/%0200d", i)) // 4 MB
	}
	if o, err := s.Run(t.Context(), c); err != nil || o.Stdout.String() != "fine\n" {
		t.Errorf("outcome %+v, %v", o, err)
	}
}

// A user who starts the program under the name of the confined process gets the program, and
// none of the user's files is touched.
func TestPolicyByHand(t *testing.T) {
	for _, name := range []string{confinedName, supervisorName, firstName} {
		c := self(t, "args")
		file := func(name string) *os.File {
			f, err := os.Create(filepath.Join(c.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			return f
		}
		kept := file("report")
		cmd := &exec.Cmd{Path: c.Program, Args: []string{name}, Env: append(os.Environ(), byHand+"=1"), ExtraFiles: []*os.File{file("order"), kept}}
		out, err := cmd.Output()
		if err != nil || string(out) != "main continues\n" {
			t.Errorf("%s: %q, %v", name, out, err)
		}
		if info, err := kept.Stat(); err != nil || info.Size() > 0 {
			t.Errorf("%s wrote %d bytes to a file of the user", name, info.Size())
		}
	}
}

// A process that is killed before it is confined is heard of as a program that was killed.
func TestPolicyKilledOnTheWay(t *testing.T) {
	c := confined(t, shell(t, ""))
	for i := range 30_000 { // that takes it a while
		c.Policy.Read = append(c.Policy.Read, fmt.Sprintf("/no/such/place/%0200d", i))
	}
	text, err := c.Policy.Encode()
	if err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	type result struct {
		program *runningProgram
		err     error
	}
	done := make(chan result)
	before := children(os.Getpid())
	go func() {
		program, err := new(supervisorLoop).startConfined(request{
			message: message{kind: kindStart, path: "/bin/sleep", argv: []string{"sleep", "3600"}, policy: text},
			files:   []*os.File{null, null, null, null},
		}, c.Policy)
		done <- result{program, err}
	}()
	eventually(t, "the program is starting", func() bool {
		for _, pid := range children(os.Getpid()) {
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if !slices.Contains(before, pid) && strings.HasPrefix(string(name), confinedName) {
				return unix.Kill(pid, unix.SIGKILL) == nil
			}
		}
		return false
	})
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	if status := wait(r.program.pid); status.Signal() != unix.SIGKILL {
		t.Errorf("status %v", status)
	}
}

// The order cannot be changed on its way, and only one is taken for an order.
func TestPolicyOrder(t *testing.T) {
	f, err := requestFile(&message{kind: kindStart, path: "/bin/true"})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte("x"), 0); !errors.Is(err, unix.EPERM) {
		t.Errorf("it was changed: %v", err)
	}
	if err := f.Truncate(1); !errors.Is(err, unix.EPERM) {
		t.Errorf("it was cut: %v", err)
	}
	if !isRequestFile(f.Fd()) {
		t.Error("an order is none")
	}
	plain, err := unix.MemfdCreate("plain", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(plain)
	if isRequestFile(uintptr(plain)) {
		t.Error("something else is an order")
	}
}
