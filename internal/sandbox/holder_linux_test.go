package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// inside gives a command a sandbox of level full with its directory as the workspace.
func inside(t *testing.T, c Command) Command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(t.TempDir(), "home")
	c.Policy = &policy.Policy{
		Level: expert.SandboxFull, Workspace: policy.Workspace{Path: c.Dir}, Read: []string{exe}, Home: home,
	}
	c.Set = map[string]string{"HOME": home, "TMPDIR": "/tmp"}
	return c
}

// said runs a command and returns what it wrote to both streams.
func said(t *testing.T, s *Supervisor, c Command) string {
	t.Helper()
	out, err := s.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.Stdout.String() + out.Stderr.String())
}

// sh is a command in the same sandbox as another one.
func sh(c Command, script string) Command {
	c.Program, c.Args = "/bin/sh", []string{"-c", script}
	return c
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A command sees the system, its workspace and empty directories, and no file of the machine
// besides.
func TestInsideFiles(t *testing.T) {
	c := inside(t, shell(t, ""))
	write(t, filepath.Join(c.Dir, "a.txt"), "from outside")
	secret := filepath.Join(t.TempDir(), "secret")
	write(t, secret, "secret")
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0) // one of the machine
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	s := supervisor(t)
	for name, tt := range map[string]struct{ script, want string }{
		"workspace":        {`cat a.txt; pwd`, "from outside" + c.Dir},
		"other file":       {`cat ` + secret + ` 2>/dev/null || [ -e /..` + secret + ` ] || echo none`, "none"},
		"empty home":       {`cd; ls -A | grep -v probe; pwd`, c.Set["HOME"]},
		"no other roots":   {`ls /; [ ! -e /sys ] && [ ! -e /var ] && [ ! -e /run ] && [ ! -e /root ] && echo none`, "none"},
		"read-only root":   {`for d in / /etc /dev /proc /usr; do touch $d/x 2>/dev/null || echo no; done`, "no\nno\nno\nno\nno"},
		"read-only system": {`touch /usr/x 2>/dev/null || echo no`, "no"},
		"writable":         {`for d in . $HOME /tmp /dev/shm; do touch $d/probe || echo cannot write $d; done; echo x >/dev/null`, ""},
		"own processes":    {`ls -d /proc/[0-9]* | wc -l | xargs test 6 -gt && echo few`, "few"},
		"settings":         {`for f in /proc/sys/kernel/core_pattern /proc/sysrq-trigger; do [ ! -w $f ] || echo can write $f; done`, ""},
		"capabilities":     {`grep -E 'Cap(Prm|Eff|Bnd|Amb)' /proc/self/status | grep -v 0000000000000000`, ""},
		"first process":    {`readlink /proc/1/exe 2>/dev/null || echo unreadable; cat /proc/1/environ 2>/dev/null || echo unreadable`, "unreadable\nunreadable"},
		"streams":          {`echo in | cat /dev/stdin; echo out >/dev/stdout; echo err >/dev/stderr; echo fd | cat /dev/fd/0`, "in\nout\nfd\nerr"},
		"devices":          {`cat /dev/null; for d in zero random urandom full; do head -c 3 /dev/$d | wc -c; done; (echo x >/dev/full) 2>/dev/null || echo full`, "3\n3\n3\n3\nfull"},
		"other terminals":  {`ls /dev/pts`, "ptmx"},
		"terminal":         {`script -qec 'tty' /dev/null </dev/null | grep -c pts`, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			got := said(t, s, sh(c, tt.script))
			if name == "no other roots" {
				got = got[strings.LastIndexByte(got, '\n')+1:]
			}
			if got := strings.ReplaceAll(got, "outside\n", "outside"); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// What a command writes to the workspace is there afterwards. What it leaves in its home and in
// /tmp is there for the next command, and gone with the sandbox.
func TestInsideKeepsFiles(t *testing.T) {
	c := inside(t, shell(t, ""))
	s := supervisor(t)
	said(t, s, sh(c, `echo one > made; echo two > $HOME/two; echo three > /tmp/three`))
	if got := said(t, s, sh(c, `cat made $HOME/two /tmp/three`)); got != "one\ntwo\nthree" {
		t.Errorf("the next command finds %q", got)
	}
	if got, err := os.ReadFile(filepath.Join(c.Dir, "made")); err != nil || string(got) != "one\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got := said(t, supervisor(t), sh(c, `cat made; ls -A $HOME; cat /tmp/three 2>/dev/null`)); got != "one" {
		t.Errorf("another sandbox finds %q", got)
	}
}

// A program that moves the directories around the workspace, or closes them, does not decide where
// later commands start and what they can write to: home belongs to programs.
func TestInsideStaysInPlace(t *testing.T) {
	c := inside(t, shell(t, ""))
	c.Policy.Home = filepath.Join(c.Dir, "home")
	c.Set["HOME"] = c.Policy.Home
	c.Dir = filepath.Join(c.Policy.Home, "src/team/project")
	c.Policy.Workspace.Path = c.Dir
	write(t, filepath.Join(c.Dir, "a"), "the workspace")
	s := supervisor(t)
	for _, from := range []string{"src", "src/team", "src/team/project"} {
		move := self(t, "move", filepath.Join(c.Policy.Home, from), filepath.Join(c.Policy.Home, "other"))
		move.Dir, move.Set, move.Policy = "/", c.Set, c.Policy
		if got := said(t, s, move); got != "" {
			t.Errorf("%s was moved: %s", from, got)
		}
	}
	said(t, s, sh(c, `cd /; rmdir ~/src/team/project ~/src/team ~/src; ln -s /proc ~/src; ln -s /proc ~/src/team`))
	if got := said(t, s, sh(c, `cat ~/src/team/project/a && pwd -P`)); got != "the workspace"+c.Dir {
		t.Errorf("the next command starts in %q", got)
	}
	said(t, s, sh(c, `chmod 0 ~ ~/src`))
	if got := said(t, s, sh(c, `chmod 700 ~ ~/src; cat a`)); got != "the workspace" {
		t.Errorf("after chmod: %q", got)
	}
}

// The right to the workspace holds.
func TestInsideRight(t *testing.T) {
	for right, want := range map[expert.WorkspaceRight]string{
		"": "x written", expert.WorkspaceWrite: "x written", expert.WorkspaceRead: "x not written", expert.WorkspaceNone: "not written",
	} {
		c := inside(t, shell(t, ""))
		write(t, filepath.Join(c.Dir, "a"), "x")
		c.Policy.Workspace.Right = right
		dir := c.Dir
		c.Dir = "/tmp"
		got := said(t, supervisor(t), sh(c, `cat `+dir+`/a 2>/dev/null && echo; touch `+dir+`/b 2>/dev/null && echo written || echo not written`))
		if got := strings.ReplaceAll(got, "\n", " "); got != want {
			t.Errorf("%q: %q, want %q", right, got, want)
		}
	}
}

// Hidden files cannot be read, frozen ones not be changed, and pinned ones not be moved.
func TestInsideProtects(t *testing.T) {
	c := inside(t, shell(t, ""))
	dir := c.Dir
	write(t, filepath.Join(dir, ".env"), "KEY=secret")
	write(t, filepath.Join(dir, "sub/.env"), "KEY=secret")
	write(t, filepath.Join(dir, "old/history"), "secret")
	write(t, filepath.Join(dir, "perstack.toml"), "original")
	write(t, filepath.Join(dir, ".git/config"), "original")
	write(t, filepath.Join(dir, ".git/hooks/sample"), "original")
	write(t, filepath.Join(dir, "real.env"), "secret")
	if err := errors.Join(os.Symlink("real.env", filepath.Join(dir, ".env.link")), os.Symlink("nowhere", filepath.Join(dir, ".env.dangling"))); err != nil {
		t.Fatal(err)
	}
	c.Policy.Hidden = []string{".env", "sub/.env", "old", ".env.link", ".env.dangling", "real.env"}
	c.Policy.Frozen = []string{"perstack.toml", ".git/config", ".git/hooks"}
	c.Policy.Pinned = []string{".git"}
	s := supervisor(t)
	for _, script := range []string{
		`cat .env`, `cat sub/.env`, `cat old/history`, `cat .env.link`, `cat real.env`, `cat .env.dangling`,
		`rm .env`, `mv .env x`, `ln .env x`, `chmod 644 .env`, `: > .env`, `touch .env`, `cp /dev/null .env`, `rmdir old`, `touch old/new`,
		`ln -sf x .env`, `ln -sf x .env.link`, `rm .env.dangling`, `echo x > .env.dangling`,
		`echo x > perstack.toml`, `rm perstack.toml`, `mv perstack.toml x`, `chmod 600 perstack.toml`, `echo x > y && mv y perstack.toml`,
		`echo x > .git/config`, `rm .git/config`, `touch .git/hooks/new`, `rm .git/hooks/sample`, `mv .git x`, `mv .git/hooks x`, `rm -r .git/hooks`,
		`umount .env`, `mount -t tmpfs none .`,
	} {
		if out, err := s.Run(t.Context(), sh(c, script+` 2>&1`)); err != nil || out.ExitCode == 0 {
			t.Errorf("%s: it worked (%v): %s", script, err, out.Stdout.String())
		} else if strings.Contains(out.Stdout.String(), "secret") {
			t.Errorf("%s: %s", script, out.Stdout.String())
		}
	}
	if got := said(t, s, sh(c, `cat perstack.toml .git/config; echo y > .git/index && mkdir sub/new && mv sub sub2 && ! cat sub2/.env 2>/dev/null && echo fine`)); got != "originaloriginalfine" {
		t.Errorf("what is not protected: %q", got)
	}
	if got, err := os.ReadFile(filepath.Join(dir, ".env")); err != nil || string(got) != "KEY=secret" {
		t.Errorf("outside: %q, %v", got, err)
	}
}

// A file that was replaced outside is protected again before the next command, and so is one
// that was found later.
func TestInsideRenewsProtection(t *testing.T) {
	c := inside(t, shell(t, ""))
	env := filepath.Join(c.Dir, ".env")
	write(t, env, "secret")
	c.Policy.Hidden = []string{".env"}
	s := supervisor(t)
	if got := said(t, s, sh(c, `cat .env`)); strings.Contains(got, "secret") {
		t.Fatal(got)
	}
	write(t, env+".new", "secret")
	if err := os.Rename(env+".new", env); err != nil {
		t.Fatal(err)
	}
	if got := said(t, s, sh(c, `cat .env`)); strings.Contains(got, "secret") {
		t.Errorf("after it was replaced: %s", got)
	}
	write(t, filepath.Join(c.Dir, "later/.env"), "secret")
	c.Policy.Hidden = []string{".env", "later/.env"}
	if got := said(t, s, sh(c, `cat later/.env; echo x > /tmp/same`)); strings.Contains(got, "secret") {
		t.Errorf("found later: %s", got)
	}
	if got := said(t, s, sh(c, `cat /tmp/same`)); got != "x" {
		t.Errorf("it is another sandbox: %q", got)
	}
}

// A file that a program outside replaces while a command runs is protected again for this command,
// too, and so is one in a directory that was replaced.
func TestInsideRenewsWhileRunning(t *testing.T) {
	replace := func(c Command, path, content string) error {
		whole := filepath.Join(c.Dir, path)
		write(t, whole+".new", content)
		return os.Rename(whole+".new", whole)
	}
	for name, tt := range map[string]struct {
		change func(Command) error
		blocks string // is refused as soon as the file is protected again
		want   string
	}{
		"hidden":   {func(c Command) error { return replace(c, ".env", "secret") }, `cat .env`, "Permission denied"},
		"in depth": {func(c Command) error { return replace(c, "src/deep/.env", "secret") }, `cat src/deep/.env`, "Permission denied"},
		"frozen":   {func(c Command) error { return replace(c, "perstack.toml", "new") }, `echo x >> perstack.toml`, "Read-only file system"},
		"pinned":   {func(c Command) error { return replace(c, ".git/config", "new") }, `echo x >> .git/config`, "Read-only file system"},
		"removed": {func(c Command) error {
			return errors.Join(os.Remove(filepath.Join(c.Dir, ".env")), os.WriteFile(filepath.Join(c.Dir, ".env"), []byte("secret"), 0o600))
		}, `cat .env`, "Permission denied"},
		"directory": {func(c Command) error {
			write(t, filepath.Join(c.Dir, "other/deep/.env"), "secret")
			return unix.Renameat2(unix.AT_FDCWD, filepath.Join(c.Dir, "other"), unix.AT_FDCWD, filepath.Join(c.Dir, "src"), unix.RENAME_EXCHANGE)
		}, `cat src/deep/.env`, "Permission denied"},
	} {
		t.Run(name, func(t *testing.T) {
			c := inside(t, shell(t, ""))
			for _, path := range []string{".env", "src/deep/.env", "perstack.toml", ".git/config"} {
				write(t, filepath.Join(c.Dir, path), "old")
			}
			for _, name := range []string{"ready", "go"} {
				if err := unix.Mkfifo(filepath.Join(c.Dir, name), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			c.Policy.Hidden, c.Policy.Frozen, c.Policy.Pinned = []string{".env", "src/deep/.env"}, []string{"perstack.toml", ".git/config"}, []string{".git"}
			c.Timeout = 30 * time.Second
			s := supervisor(t)
			type result struct {
				out Outcome
				err error
			}
			done := make(chan result, 1)
			go func() {
				out, err := s.Run(t.Context(), sh(c, `echo > ready; cat go; while `+tt.blocks+` >/dev/null 2>&1; do :; done; `+tt.blocks+` 2>&1`))
				done <- result{out, err}
			}()
			if _, err := os.ReadFile(filepath.Join(c.Dir, "ready")); err != nil { // the command runs
				t.Fatal(err)
			}
			if err := errors.Join(tt.change(c), os.WriteFile(filepath.Join(c.Dir, "go"), nil, 0)); err != nil {
				t.Fatal(err)
			}
			got := <-done
			if text := got.out.Stdout.String() + got.out.Stderr.String(); got.err != nil || got.out.TimedOut || !strings.Contains(text, tt.want) || strings.Contains(text, "secret") {
				t.Errorf("%+v, %v", got.out, got.err)
			}
		})
	}
}

// The listener of a sandbox is served outside, and nothing else of the machine can be reached.
func TestInsideNetwork(t *testing.T) {
	c := inside(t, shell(t, ""))
	outside, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	c.Policy.Listener = true
	c.Accept = func(l net.Listener) {
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, "hello")
				conn.Close()
			}
		}()
	}
	c.Program = "/bin/bash"
	s := supervisor(t)
	connect := func(to string) string {
		c.Args = []string{"-c", `exec 3<>/dev/tcp/` + to + ` && cat <&3`}
		return said(t, s, c)
	}
	if got := connect("127.0.0.1/3128"); got != "hello" {
		t.Errorf("the listener: %q", got)
	}
	port := outside.Addr().(*net.TCPAddr).Port
	if got := connect(fmt.Sprintf("127.0.0.1/%d", port)); !strings.Contains(got, "refused") {
		t.Errorf("the machine: %q", got)
	}
	if got := connect("192.0.2.1/80"); !strings.Contains(got, "unreachable") {
		t.Errorf("the internet: %q", got)
	}
}

// A policy that asks for a listener needs code that serves it.
func TestInsideNeedsAccept(t *testing.T) {
	c := inside(t, shell(t, ""))
	c.Policy.Listener = true
	if _, err := supervisor(t).Run(t.Context(), c); !errors.Is(err, errProtocol) {
		t.Error(err)
	}
}

// How a command ends is reported truthfully, and everything that it started ends with it.
func TestInsideEnds(t *testing.T) {
	c := inside(t, shell(t, ""))
	s := supervisor(t)
	for script, want := range map[string]Outcome{
		`exit 7`:        {ExitCode: 7},
		`kill -SEGV $$`: {ExitCode: -1, Signal: "SIGSEGV"},
		`setsid sleep 1000 </dev/null >/dev/null 2>&1 & (setsid sleep 1000 &) ; exit 0`: {},
	} {
		out, err := s.Run(t.Context(), sh(c, script))
		if err != nil || out.ExitCode != want.ExitCode || out.Signal != want.Signal {
			t.Errorf("%s: %d %s, %v", script, out.ExitCode, out.Signal, err)
		}
	}
	if left := children(holder(s)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// holder is the process that holds the only sandbox of a supervisor.
func holder(s *Supervisor) (pid int) {
	for _, l := range s.currentLinks() {
		if l.holds {
			pid = l.process.Pid
		}
	}
	return pid
}

// The holder and the first process of a command are in sessions of their own, where no terminal
// sends them signals. They are not dumpable: their files in /proc are those of root.
func TestInsideProcesses(t *testing.T) {
	s := supervisor(t)
	started(t, s, Server(inside(t, shell(t, "sleep 1000"))))
	first := children(holder(s))
	if len(first) != 1 {
		t.Fatalf("the holder has the children %v", first)
	}
	for name, pid := range map[string]int{"holder": holder(s), "first process": first[0]} {
		if session, err := unix.Getsid(pid); err != nil || session != pid {
			t.Errorf("%s: the session of %d is %d, %v", name, pid, session, err)
		}
		var info unix.Stat_t
		if err := unix.Stat(fmt.Sprintf("/proc/%d/environ", pid), &info); err != nil || info.Uid != 0 {
			t.Errorf("%s: its files are those of user %d, %v", name, info.Uid, err)
		}
	}
}

// A command is asked to end before it is killed.
func TestInsideIsAskedToEnd(t *testing.T) {
	c := inside(t, shell(t, `trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.01; done`))
	c.Timeout = 300 * 1e6
	out, err := supervisor(t).Run(t.Context(), c)
	if err != nil || !out.TimedOut || out.Stdout.String() != "ready\nasked\n" {
		t.Errorf("%+v, %v", out, err)
	}
}

// When the holder is killed, its commands end with it, the outcome is unknown, and the next
// command gets a new sandbox.
func TestInsideHolderKilled(t *testing.T) {
	c := inside(t, shell(t, ""))
	s := supervisor(t)
	lost := 0
	s.OnLost(func() { lost++ })
	started := make(chan struct{})
	slow := sh(c, `echo started; sleep 1000`)
	slow.Watch = func(Stream, []byte) { close(started) }
	done := make(chan error, 1)
	go func() {
		_, err := s.Run(t.Context(), slow)
		done <- err
	}()
	select {
	case <-started:
	case err := <-done:
		t.Fatal(err)
	}
	key, err := c.sandboxKey()
	if err != nil {
		t.Fatal(err)
	}
	l, _ := s.current(key)
	if err := unix.Kill(l.process.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, ErrLost) || lost != 1 {
		t.Errorf("%v, told %d times", err, lost)
	}
	if got := said(t, s, sh(c, `echo again`)); got != "again" || lost != 1 {
		t.Errorf("%q, told %d times", got, lost)
	}
}

// A program that the sandbox does not have does not run, whatever the machine has. The error tells
// whether the machine has it.
func TestInsideFindsPrograms(t *testing.T) {
	c := inside(t, shell(t, ""))
	tools := t.TempDir()
	write(t, filepath.Join(tools, "perstack-test-tool"), "#!/bin/sh\necho tool\n")
	if err := os.Chmod(filepath.Join(tools, "perstack-test-tool"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.Environ = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"))
	c.Program, c.Args = "perstack-test-tool", nil
	s := supervisor(t)
	if _, err := s.Run(t.Context(), c); !errors.Is(err, ErrOutside) {
		t.Error(err)
	}
	none := c
	none.Program = "perstack-test-none"
	if _, err := s.Run(t.Context(), none); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	c.Policy.Read = append(c.Policy.Read, tools)
	if got := said(t, s, c); got != "tool" {
		t.Error(got)
	}
}

// Files that exist in the sandbox only, and a cache whose changes go elsewhere.
func TestInsideFilesAndCaches(t *testing.T) {
	c := inside(t, shell(t, ""))
	home, state := c.Policy.Home, t.TempDir()
	cache := filepath.Join(home, ".cache/tool")
	lower := filepath.Join(state, "lower:with\\odd,name")
	upper, work := filepath.Join(state, "upper"), filepath.Join(state, "work")
	write(t, filepath.Join(lower, "warm"), "warm")
	if err := errors.Join(os.Mkdir(upper, 0o700), os.Mkdir(work, 0o700)); err != nil {
		t.Fatal(err)
	}
	c.Policy.Files = map[string]string{filepath.Join(home, ".gitconfig"): "[user]\n"}
	c.Policy.Caches = []policy.Cache{{Path: cache, Lower: lower, Upper: upper, Work: work}}
	s := supervisor(t)
	if got := said(t, s, sh(c, `cat ~/.gitconfig ~/.cache/tool/warm; echo poison > ~/.cache/tool/warm; echo new > ~/.cache/tool/new; cat ~/.cache/tool/*`)); got != "[user]\nwarmnew\npoison" {
		t.Errorf("%q", got)
	}
	if got, err := os.ReadFile(filepath.Join(lower, "warm")); err != nil || string(got) != "warm" {
		t.Errorf("the cache outside: %q, %v", got, err)
	}
	if got, err := os.ReadFile(filepath.Join(upper, "new")); err != nil || string(got) != "new\n" {
		t.Errorf("what was written: %q, %v", got, err)
	}
}

// Sandboxes with different names have nothing in common, and each can be ended alone.
func TestInsideNames(t *testing.T) {
	c := inside(t, shell(t, ""))
	s := supervisor(t)
	one, two := c, c
	for name, c := range map[string]*Command{"one": &one, "two": &two} {
		p := *c.Policy
		p.Name = name
		c.Policy = &p
	}
	said(t, s, sh(one, `echo one > /tmp/mine`))
	if got := said(t, s, sh(two, `cat /tmp/mine 2>/dev/null; echo two > /tmp/mine`)); got != "" {
		t.Errorf("the other sandbox finds %q", got)
	}
	if err := s.EndSandbox("one"); err != nil {
		t.Fatal(err)
	}
	if got := said(t, s, sh(one, `cat /tmp/mine 2>/dev/null || echo new`)); got != "new" {
		t.Errorf("after its end: %q", got)
	}
	if got := said(t, s, sh(two, `cat /tmp/mine`)); got != "two" {
		t.Errorf("the other one: %q", got)
	}
}
