package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// N12: nothing survives the end of a server, whatever ends it, and also while others
// run that are older or younger.
func TestNothingSurvivesServer(t *testing.T) {
	ends := map[string]func(*Supervisor, *ServerProcess) error{
		"stop":  func(_ *Supervisor, r *ServerProcess) error { return r.Stop(time.Millisecond) },
		"close": func(s *Supervisor, _ *ServerProcess) error { return s.Close() },
		"its own": func(_ *Supervisor, r *ServerProcess) error {
			<-r.Done()
			return nil
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			s := supervisor(t)
			older := started(t, s, server(shell(t, echo)))
			then := "stay"
			if name == "its own" {
				then = "leave"
			}
			c, dir := family(t, then)
			r := started(t, s, server(c))
			eventually(t, "the family is up", func() bool { return len(pids(dir)) == len(familyKinds) })
			younger := started(t, s, server(shell(t, echo)))
			if err := end(s, r); err != nil {
				t.Error(err)
			}
			for kind, pid := range pids(dir) { // without waiting: that was done
				if alive(pid) {
					t.Errorf("%s survived", kind)
				}
			}
			if name == "close" {
				return
			}
			for _, other := range []*ServerProcess{older, younger} {
				fmt.Fprintln(other.Stdin, "still there?")
				if got := line(t, other.Stdout); got != "you said still there?" {
					t.Errorf("another server says %q", got)
				}
			}
		})
	}
}

// N12: a server that runs all the time does not protect what commands leave behind.
func TestServerSparesNoStrays(t *testing.T) {
	s := supervisor(t)
	r := started(t, s, server(shell(t, echo)))
	c, dir := family(t, "leave")
	if o, err := s.Run(t.Context(), c); err != nil || o.ExitCode != 0 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	allGone(t, pids(dir))
	fmt.Fprintln(r.Stdin, "still there?")
	line(t, r.Stdout)
}

// X3, S4: no server survives the death of perstack, kill -9 included.
func TestNoServerSurvivesKill(t *testing.T) {
	command, dir := family(t, "stay")
	c := self(t, "shieldAndServe", append([]string{command.Program}, command.Args...)...)
	perstack := exec.Command(c.Program, c.Args...)
	if err := perstack.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = perstack.Process.Kill() }()
	up := allUp(t, dir)
	if err := perstack.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = perstack.Wait() // killed
	allGone(t, up)
}

// A server kills its supervisor: how it ended is unknown and said so, what it started is
// gone, and other servers and commands do not notice.
func TestServerLost(t *testing.T) {
	dir := t.TempDir()
	c := self(t, "serverLost", dir)
	out, err := exec.Command(c.Program, c.Args...).CombinedOutput()
	want := ErrLost.Error() + `
you said before
you said after
command <nil> 0
exit status 0
close <nil>
`
	if err != nil || string(out) != want {
		t.Errorf("%v\n%s", err, out)
	}
	allGone(t, pids(dir))
}

func playServerLost(dir string) int {
	if err := Harden(); err != nil {
		fmt.Println(err)
		return 1
	}
	exe, _ := os.Executable()
	s := NewSupervisor()
	ctx := context.Background()
	sh := Server{Program: "sh", Args: []string{"-c", strings.ReplaceAll(echo, "; echo bye", "")}, Dir: "/", Environ: os.Environ(), Policy: off()}
	before, err := s.Start(ctx, sh)
	hostile, hostileErr := s.Start(ctx, Server{Program: exe, Args: []string{act + "family", dir, "kill"}, Dir: "/", Environ: os.Environ(), Policy: off()})
	after, afterErr := s.Start(ctx, sh)
	if err := errors.Join(err, hostileErr, afterErr); err != nil {
		fmt.Println(err)
		return 1
	}
	// The command waits in opening the pipe, until its other end is opened.
	if err := syscall.Mkfifo(dir+"/go", 0o600); err != nil {
		fmt.Println(err)
		return 1
	}
	command := make(chan string)
	go func() {
		o, err := s.Run(ctx, Command{Program: "cat", Args: []string{dir + "/go"}, Dir: "/", Environ: os.Environ(), Policy: off()})
		command <- fmt.Sprintln("command", err, o.ExitCode)
	}()
	<-hostile.Done()
	fmt.Println(hostile.Exit())
	for name, pid := range pids(dir) {
		if alive(pid) {
			fmt.Println("survived:", name)
		}
	}
	converse("before", before)
	converse("after", after)
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		fmt.Println(err)
	}
	fmt.Print(<-command)
	_ = after.Stop(time.Hour)
	fmt.Println(after.Exit())
	fmt.Println("close", s.Close())
	return 0
}

func converse(said string, r *ServerProcess) {
	fmt.Fprintln(r.Stdin, said)
	answer := make([]byte, len("you said \n")+len(said))
	_, err := io.ReadFull(r.Stdout, answer)
	fmt.Print(string(answer))
	if err != nil {
		fmt.Println(err)
	}
}

// playServe starts its arguments as a server and says what came of it.
func playServe(args []string) int {
	err := Harden()
	s := NewSupervisor()
	var r *ServerProcess
	if err == nil {
		r, err = s.Start(context.Background(), Server{Program: args[0], Args: args[1:], Dir: "/", Environ: os.Environ(), Policy: off()})
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	out, err := io.ReadAll(r.Stdout)
	<-r.Done()
	fmt.Printf("%s, error %v\n%s", strings.Replace(r.Exit(), "exit status", "exit", 1), err, out)
	return 0
}

// M6: a server of the same user finds no way to the secrets of perstack.
func TestSecretsUnreadableForServers(t *testing.T) {
	checkProbe(t, probed(t, "shieldAndServe", true))
}

// Servers leave no descriptor and no process behind, however they come to their end.
func TestServerLeaksNothing(t *testing.T) {
	s := supervisor(t)
	cycle := func() {
		for _, script := range []string{echo, "exit 3", "kill -9 $$", "cat /dev/zero >&2"} {
			stop(t, started(t, s, server(shell(t, script))))
		}
		if _, err := s.Start(t.Context(), Server{Program: "./none", Dir: "/", Environ: os.Environ(), Policy: off()}); !errors.Is(err, ErrNotFound) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Start(ctx, server(shell(t, echo))); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	cycle() // what the Go runtime opens once
	before := descriptors(t)
	for range 5 {
		cycle()
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if left := children(os.Getpid()); len(left) > 0 {
		for _, pid := range left {
			if p, err := readProc(pid); err == nil && alive(pid) && syscall.Kill(pid, 0) == nil {
				t.Errorf("left behind: %+v", p)
			}
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}
