package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/testkit"
)

const secretCanary = "canary-of-the-runtime-7d1"

// playProbe is a command that tries every way into its supervisor and into perstack. It
// prints a line for each, and what it is itself. Gently means without stopping them.
func playProbe(gently bool) int {
	runtime.LockOSThread() // ptrace is a matter of threads
	guard := os.Getppid()
	p, err := readProc(guard)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for name, pid := range map[string]int{"supervisor": guard, "perstack": p.parent} {
		probeProcess(name, pid, gently)
	}
	status, err := os.ReadFile("/proc/self/status")
	fmt.Printf("%s%v\n", status, err)
	var core unix.Rlimit
	err = unix.Getrlimit(unix.RLIMIT_CORE, &core)
	fmt.Println("core", core.Cur, core.Max, err)
	return 0
}

func probeProcess(name string, pid int, gently bool) {
	dir := "/proc/" + strconv.Itoa(pid)
	send := func(way string, got []byte, err error) {
		denied := errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM)
		fmt.Printf("try %s %s denied=%t %v %q\n", name, way, denied, err, got)
	}
	for _, file := range []string{"environ", "maps", "smaps", "auxv", "mem", "pagemap", "syscall", "stack"} {
		got := make([]byte, 1<<16)
		n := 0
		f, err := os.Open(dir + "/" + file)
		if err == nil && file != "mem" {
			n, err = f.Read(got)
		}
		f.Close()
		send(file, got[:n], err)
	}
	_, err := os.ReadDir(dir + "/map_files")
	send("map_files", nil, err)
	for _, link := range []string{"fd/0", "fd/1", "fd/3", "cwd", "root", "exe"} {
		to, err := os.Readlink(dir + "/" + link)
		send("link-"+link, []byte(to), err)
		f, err := os.Open(dir + "/" + link)
		if err == nil {
			f.Close()
		}
		send("open-"+link, nil, err)
	}
	if !gently { // it would stop a process that lets us
		send("ptrace", nil, unix.PtraceAttach(pid))
		send("seize", nil, unix.PtraceSeize(pid))
	}
	buf := make([]byte, 8)
	local := []unix.Iovec{{Base: &buf[0]}}
	local[0].SetLen(len(buf))
	_, err = unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	send("process_vm_readv", nil, err)
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		_, err = unix.PidfdGetfd(pidfd, 3, 0)
	}
	send("pidfd_getfd", nil, err)
}

// E4, N8: a command of the same user finds no way to the secrets of perstack.
func TestSecretsUnreadable(t *testing.T) {
	out := probed(t, "shieldAndRun", true)
	checkProbe(t, out)
}

// The test above could fail: without the shield, the same probe finds the secret.
func TestSecretsReadableUnshielded(t *testing.T) {
	out := probed(t, "run", true)
	if !regexp.MustCompile(`try perstack environ denied=false <nil> "[^"]*` + secretCanary).MatchString(out) {
		t.Errorf("the probe did not look:\n%s", out)
	}
	if !regexp.MustCompile(`try supervisor environ denied=true`).MatchString(out) {
		t.Errorf("the supervisor is open:\n%s", out)
	}
}

// probed runs the probe below a perstack in a role, as a user without rights.
func probed(t *testing.T, role string, unprivileged bool) string {
	t.Helper()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		testkit.Missing(t, "/proc")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{act + role, exe, act + "probe", role}
	cmd := exec.Command(exe, args...)
	if os.Getuid() == 0 && unprivileged {
		copied := filepath.Join(t.TempDir(), "program")
		data, err := os.ReadFile(exe)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied, data, 0o755); err != nil {
			t.Fatal(err)
		}
		for d := filepath.Dir(copied); d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		args[1] = copied
		cmd = exec.Command(copied, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "SECRET="+secretCanary)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func checkProbe(t *testing.T, out string) {
	t.Helper()
	if !strings.HasPrefix(out, "exit 0, error <nil>\n") {
		t.Fatalf("the probe failed: %s", out)
	}
	if strings.Contains(out, secretCanary) {
		t.Error("the command got the secret")
	}
	tries := regexp.MustCompile(`(?m)^try .*$`).FindAllString(out, -1)
	if len(tries) != 2*(9+12+4) {
		t.Errorf("%d tries", len(tries))
	}
	for _, line := range tries {
		if !strings.Contains(line, " denied=true ") {
			t.Error(line)
		}
	}
	for _, want := range []string{
		`CapInh:\t0+`, `CapPrm:\t0+`, `CapEff:\t0+`, `CapAmb:\t0+`, `NoNewPrivs:\t1`,
		`core 0 0 <nil>`,
	} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(out) {
			t.Errorf("no line %q", want)
		}
	}
}

// E4: the block of variables that the kernel shows is overwritten, and ours remain.
func TestEraseEnvironment(t *testing.T) {
	c := self(t, "erase")
	cmd := exec.Command(c.Program, c.Args...)
	cmd.Env = append(os.Environ(), "SECRET="+secretCanary)
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("before true, after \"\", os %q, <nil> <nil>\n", secretCanary); err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}

// X2: a command has its three streams and no other descriptor.
func TestDescriptors(t *testing.T) {
	// The list is open while it is read, and not any more when it is looked at.
	o := run(t, shell(t, `for fd in /proc/$$/fd/*; do [ -e $fd ] && echo "${fd##*/} $(readlink $fd)"; done`))
	if got := o.Stdout.String(); !regexp.MustCompile(`^0 /dev/null\n1 pipe:\S+\n2 pipe:\S+\n$`).MatchString(got) {
		t.Errorf("descriptors:\n%s", got)
	}
}
