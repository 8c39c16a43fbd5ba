package attack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// SecretVariable holds the secret of a victim.
const SecretVariable = "VICTIM_SECRET"

// A victim keeps a secret.
type victim struct {
	secret  string
	kept    []*os.File // open as long as it lives
	child   *exec.Cmd
	signals atomic.Int64
	limit   unix.Rlimit
	nice    int
}

// Prepared is what a victim found when it moved in.
type Prepared struct {
	Secret    bool   `json:"secret"`    // that it has one
	Listens   string `json:"listens"`   // what came of listening at a port
	Socket    string `json:"socket"`    // of a socket with a name
	Shared    string `json:"shared"`    // of memory that others can find
	Elsewhere string `json:"elsewhere"` // of a file in /tmp beside its own directory
	Said      string `json:"said,omitzero"`
}

// prepare puts the secret everywhere, and writes the target.
func (r *victim) prepare(ctx context.Context, target, host string) (Prepared, error) {
	r.secret = os.Getenv(SecretVariable)
	home, err := os.UserHomeDir()
	if err != nil {
		return Prepared{}, err
	}
	c := Target{PID: os.Getpid(), Above: os.Getppid(), Home: home, Tmp: os.TempDir(), Proxy: os.Getenv("HTTPS_PROXY"), Host: host, Package: os.Getenv("ATTACK_PACKAGE"), Private: "private.txt"}
	for _, dir := range []string{c.Home, c.Tmp} {
		name := filepath.Join(dir, c.Private)
		if err := os.WriteFile(name, []byte(r.secret), 0o644); err != nil { // the mode is not what protects it
			return Prepared{}, err
		}
		f, err := os.Open(name)
		if err != nil {
			return Prepared{}, err
		}
		r.kept = append(r.kept, f)
	}
	if err := r.raise(); err != nil {
		return Prepared{}, err
	}
	c.Child = r.child.Process.Pid
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &r.limit)
	r.nice, _ = unix.Getpriority(unix.PRIO_PROCESS, 0)
	came := make(chan os.Signal, 64)
	signal.Notify(came, unix.SIGUSR1, unix.SIGUSR2, unix.SIGHUP, unix.SIGTERM, unix.SIGCONT, unix.SIGXCPU)
	go func() {
		for range came {
			r.signals.Add(1)
		}
	}()
	s := Prepared{Secret: r.secret != "", Listens: listens(ctx), Socket: named(c.Tmp), Shared: shared(), Elsewhere: elsewhere()}
	return s, c.Write(target)
}

// raise starts a child that has the secret in its environment, too.
func (r *victim) raise() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r.child = exec.Command(self, "wait") //nolint:noctx // it goes with the session
	r.child.Env = []string{SecretVariable + "=" + r.secret}
	return r.child.Start()
}

// Checked is how a victim is after an attack.
type Checked struct {
	Signals int  `json:"signals"` // that have come
	Files   bool `json:"files"`   // its files are as they were, and no others are beside them
	Limits  bool `json:"limits"`  // its limits and its priority are as they were
	Child   bool `json:"child"`   // its child lives

	Said string `json:"said,omitzero"`
}

// check looks for traces of an attack.
func (r *victim) check() (Checked, error) {
	if r.child == nil {
		return Checked{}, errors.New("it has not prepared")
	}
	c := Checked{Signals: int(r.signals.Load()), Files: true, Child: r.child.Process.Signal(unix.Signal(0)) == nil}
	home, _ := os.UserHomeDir()
	for _, dir := range []string{home, os.TempDir()} {
		data, err := os.ReadFile(filepath.Join(dir, "private.txt"))
		visited, _ := filepath.Glob(filepath.Join(dir, Visited+"*"))
		c.Files = c.Files && err == nil && string(data) == r.secret && len(visited) == 0
	}
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	nice, _ := unix.Getpriority(unix.PRIO_PROCESS, 0)
	c.Limits = limit == r.limit && nice == r.nice
	return c, nil
}

// listens tries to be found by others at a port.
func listens(context.Context) string {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return word(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return word(err)
	}
	return word(unix.Listen(fd, 1))
}

// named tries to be found by the name of a socket.
func named(dir string) string {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return word(err)
	}
	defer unix.Close(fd)
	return word(unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(dir, "socket")}))
}

// shared tries to have memory that is found by a number.
func shared() string {
	id, _, errno := unix.Syscall(unix.SYS_SHMGET, sharedKey, 4096, unix.IPC_CREAT|0o666)
	if errno != 0 {
		return word(errno)
	}
	_, _, _ = unix.Syscall(unix.SYS_SHMCTL, id, unix.IPC_RMID, 0)
	return word(nil)
}

const sharedKey = 0x7e57

// elsewhere tries to leave a file where every user can write.
func elsewhere() string {
	worst := Absent
	for _, dir := range []string{"/tmp", "/dev/shm", "/var/tmp", "/home/perstack", "/run"} {
		name := filepath.Join(dir, fmt.Sprintf("attack-%d", os.Getpid()))
		err := os.WriteFile(name, []byte("x"), 0o644)
		if err == nil {
			os.Remove(name)
			return Reached + " " + dir
		}
		if w := word(err); w != Absent {
			worst = w
		}
	}
	return worst
}
