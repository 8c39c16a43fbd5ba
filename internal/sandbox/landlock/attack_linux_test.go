package landlock_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"syscall"

	"github.com/go-json-experiment/json"
	"golang.org/x/sys/unix"
)

// A scene is what an attacker finds, and finds out about.
type scene struct {
	Own      string // its own directory, where it starts
	ReadOnly string // a tree that it may read
	Outside  string // the directory of the victim, which is in a sandbox of its own

	OwnPort, OtherPort int // TCP, on 127.0.0.1 and ::1; the other is the victim's
	Datagrams          int // UDP port

	Named, NamedDatagrams, NamedPackets, Abstract string // sockets of the test

	Victim, Supervisor, Tester int    // process numbers
	Address                    uint64 // of memory of the victim
}

// An attack is one thing to try. It must be possible outside of a sandbox, or the test would
// prove nothing.
type attack struct {
	name   string
	inside []syscall.Errno // what the sandbox answers; none if it lets it be
	try    func(*scene) error

	// reached is what the kernel says outside if it was asked, where that is not success.
	reached []syscall.Errno
	// optional attacks depend on what the kernel has, and on how the machine is set up.
	optional bool
	// own attacks are on the entries of the process in /proc, which those that it starts do
	// not see of themselves.
	own bool
}

func errnos(list ...syscall.Errno) []syscall.Errno { return list }

func attacks() []attack {
	return slices.Concat(fileAttacks(), procAttacks(), netAttacks(), signalAttacks(), processAttacks(), kernelAttacks())
}

// play acts in a sandbox, or outside of one.
func play(role string, args []string) int {
	switch role {
	case "victim":
		return playVictim()
	case "int80":
		fmt.Print(int80())
		return 0
	case "attack", "grandchild":
	default:
		return 1
	}
	var s scene
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		fmt.Println(err)
		return 1
	}
	if s.Supervisor == 0 {
		s.Supervisor = os.Getppid()
	}
	if role == "grandchild" {
		return playGrandchild(s)
	}
	results := make(map[string]string)
	for _, a := range attacks() {
		results[a.name] = verdict(a.try(&s))
	}
	text, err := json.Marshal(results)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	os.Stdout.Write(text)
	return 0
}

// playGrandchild has its own child attack.
func playGrandchild(s scene) int {
	text, err := json.Marshal(s)
	if err == nil {
		child := exec.Command(os.Args[0], act+"attack", string(text))
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		err = child.Run()
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

const worked = "worked"

// verdict is the name of the error, as far as it has one.
func verdict(err error) string {
	if err == nil {
		return worked
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return unix.ErrnoName(errno)
	}
	if errors.Is(err, fs.ErrPermission) {
		return "EACCES"
	}
	return err.Error()
}

// call makes a system call on this thread.
func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}
