package landlock_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/testkit"
)

// needLandlock ends a test where the kernel cannot enforce policies: in CI with a failure.
func needLandlock(t testing.TB) {
	t.Helper()
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
}

func newSupervisor(t *testing.T) *sandbox.Supervisor {
	t.Helper()
	s := sandbox.NewSupervisor()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// policyFor is a policy under which the test program can run.
func policyFor(t *testing.T, write string, read []string, ports ...int) *policy.Policy {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &policy.Policy{Level: expert.SandboxLandlock, Read: slices.Concat(landlock.SystemPaths(), read, []string{exe}), Write: append(landlock.WritableDevices(), write)}
	for _, port := range ports {
		c.Ports = append(c.Ports, uint16(port))
	}
	return c
}

// Every attack works outside of a sandbox, and none inside: neither for the program nor for
// what it starts. What a program needs works in both.
func TestAttacks(t *testing.T) { tryAttacks(t) }

func tryAttacks(t *testing.T) {
	needLandlock(t)
	results := make(map[string]map[string]string)
	for _, tt := range []struct {
		place, role string
		level       expert.SandboxLevel
	}{
		{"outside", "attack", expert.SandboxOff},
		{"inside", "attack", expert.SandboxLandlock}, {"grandchild", "grandchild", expert.SandboxLandlock},
		{"full", "attack", expert.SandboxFull}, {"full grandchild", "grandchild", expert.SandboxFull},
	} {
		t.Run(tt.place, func(t *testing.T) { results[tt.place] = runAttacks(t, tt.role, tt.level) })
	}
	if t.Failed() {
		return
	}
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			a.checkOutside(t, results["outside"][a.name])
			outside := results["outside"][a.name]
			a.checkInside(t, "inside", results["inside"][a.name], outside)
			if !a.own {
				a.checkInside(t, "what it starts", results["grandchild"][a.name], outside)
			}
			a.checkFull(t, "level full", results["full"][a.name])
			a.checkFull(t, "what it starts at level full", results["full grandchild"][a.name])
		})
	}
}

func (a *attack) checkOutside(t *testing.T, got string) {
	t.Helper()
	t.Logf("outside: %s", got)
	switch {
	case got == worked || among(a.reached, got):
	case got != "" && a.optional:
		t.Logf("this machine refuses it outside of a sandbox too (%s)", got)
	default:
		t.Errorf("outside of a sandbox: %q; then it proves nothing that it fails inside", got)
	}
}

// checkFull holds an attack against level full. There everything that the sandbox has to itself
// can be used, and all else does not exist.
func (a *attack) checkFull(t *testing.T, who, got string) {
	t.Helper()
	t.Logf("%s: %s", who, got)
	allowed := len(a.inside) == 0
	if exception, ok := atFull()[a.name]; ok {
		allowed = exception
	}
	if allowed != (got == worked) && !(a.optional && got != worked) {
		t.Errorf("%s: %q, and it may be done: %t", who, got, allowed)
	}
}

func (a *attack) checkInside(t *testing.T, who, got, outside string) {
	t.Helper()
	t.Logf("%s: %s", who, got)
	switch {
	case len(a.inside) == 0 && got == worked || among(a.inside, got):
	case a.optional && got != worked && got == outside: // it cannot be done here
	default:
		t.Errorf("%s: %q, want %v", who, got, a.inside)
	}
}

func among(list []syscall.Errno, got string) bool {
	return slices.ContainsFunc(list, func(e syscall.Errno) bool { return verdict(e) == got })
}

// runAttacks sets the scene up again, runs the attacks, and returns their outcomes.
func runAttacks(t *testing.T, role string, level expert.SandboxLevel) map[string]string {
	inside := level != expert.SandboxOff
	s := &scene{Own: t.TempDir(), ReadOnly: t.TempDir(), Outside: t.TempDir(), Tester: os.Getpid()}
	s.setUp(t)
	supervisor := newSupervisor(t)
	victim := s.startVictim(t, supervisor)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := sandbox.Command{Program: exe, Args: []string{act + role, string(text)}, Dir: s.Own, Environ: os.Environ(), Policy: policy.Off(policy.JobOff), Timeout: time.Minute}
	switch level {
	case expert.SandboxLandlock:
		c.Policy = policyFor(t, s.Own, []string{s.ReadOnly}, s.OwnPort)
	case expert.SandboxFull:
		c.Policy = &policy.Policy{Level: level, Workspace: policy.Workspace{Path: s.Own}, Read: []string{exe, s.ReadOnly}, Home: "/home/none"}
	}
	out, err := supervisor.Run(t.Context(), c)
	var results map[string]string
	if err == nil {
		err = json.Unmarshal([]byte(out.Stdout.String()), &results)
	}
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("%v: %+v", err, out)
	}
	if got := results[asyncSignal]; got != worked && level != expert.SandboxFull {
		t.Errorf("the pipe that signals could not be made: %s", got)
	}
	if heard := victim.signals(t); heard == inside {
		t.Errorf("inside: %t, but the victim heard a signal: %t", inside, heard)
	}
	if got, err := os.ReadFile(filepath.Join(s.Outside, "read")); inside && (err != nil || string(got) != "victim's") {
		t.Errorf("the victim's file is %q, %v", got, err)
	}
	return results
}

// setUp makes the files and sockets that are attacked.
func (s *scene) setUp(t *testing.T) {
	t.Helper()
	for _, a := range attacks() {
		kind, name, _ := strings.Cut(a.name, ": ")
		dir, ok := map[string]string{"file": s.Outside, "read-only": s.ReadOnly}[kind]
		if !ok {
			continue
		}
		content, mode := "victim's", os.FileMode(0o600)
		if name == "run" {
			content, mode = "#!/bin/sh\n", 0o700
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.ReadOnly, "read"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.OwnPort, s.OtherPort = bothPort(t), bothPort(t)
	s.Named, s.NamedDatagrams = filepath.Join(s.Outside, "stream"), filepath.Join(s.Outside, "datagrams")
	s.Abstract = "@perstack-test-" + filepath.Base(s.Outside) + strconv.Itoa(os.Getpid())
	s.NamedPackets = filepath.Join(s.Outside, "packets")
	for name, network := range map[string]string{s.Named: "unix", s.Abstract: "unix", s.NamedPackets: "unixpacket"} {
		l, err := net.Listen(network, name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
	}
	d, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: s.NamedDatagrams, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { u.Close() })
	s.Datagrams = u.LocalAddr().(*net.UDPAddr).Port
}

// bothPort is a port with a listener, by IPv4 and IPv6.
func bothPort(t *testing.T) int {
	t.Helper()
	for range 100 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l6, err := net.Listen("tcp6", net.JoinHostPort("::1", strconv.Itoa(port)))
		if err != nil {
			l.Close() // another process has that one
			continue
		}
		t.Cleanup(func() { l.Close(); l6.Close() })
		return port
	}
	testkit.Missing(t, "a TCP port that is free for IPv4 and IPv6")
	return 0
}

// A victim is a program in a sandbox of its own.
type victim struct {
	*sandbox.ServerProcess
	pid   int
	lines *bufio.Scanner
}

func (s *scene) startVictim(t *testing.T, supervisor *sandbox.Supervisor) *victim {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r, err := supervisor.Start(t.Context(), sandbox.Server{
		Program: exe, Args: []string{act + "victim"}, Dir: s.Outside, Environ: os.Environ(),
		Env: map[string]string{"CANARY": "victim's"}, Policy: policyFor(t, s.Outside, nil, s.OtherPort),
	})
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{ServerProcess: r, lines: bufio.NewScanner(r.Stdout)}
	v.lines.Scan()
	if _, err := fmt.Sscan(v.lines.Text(), &v.pid, &s.Address); err != nil {
		t.Fatalf("the victim says %q: %v", v.lines.Text(), err)
	}
	s.Victim = v.pid
	return v
}

const (
	attackSignal = syscall.SIGIO
	lastSignal   = syscall.Signal(40) // the kernel delivers it after the other
)

// signals reports whether the attacker's signal arrived.
func (v *victim) signals(t *testing.T) bool {
	t.Helper()
	if err := syscall.Kill(v.pid, lastSignal); err != nil {
		t.Fatal(err)
	}
	v.lines.Scan()
	return v.lines.Text() == "heard"
}

func playVictim() int {
	heard := make(chan os.Signal, 8)
	signal.Notify(heard, attackSignal, lastSignal)
	// Some systems let only ancestors trace, unless one asks for more. The attacker outside of
	// a sandboxed program shall be able to.
	_ = unix.Prctl(unix.PR_SET_PTRACER, unix.PR_SET_PTRACER_ANY, 0, 0, 0)
	memory := make([]byte, 8)
	fmt.Println(os.Getpid(), uint64(uintptr(unsafe.Pointer(&memory[0]))))
	answer := "heard nothing"
	for got := range heard {
		if got == lastSignal {
			break
		}
		answer = "heard"
	}
	fmt.Println(answer)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is closed
	return int(memory[0])
}
