package selfcheck

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// checks lists all checks, in the order in which they are reported.
func checks() []check {
	return []check{
		{"hidden", "hide a file of the workspace", hidden},
		{"frozen", "keep a file of the workspace as it is", frozen},
		{"pinned", "keep a directory of the workspace in its place", pinned},
		{"outside", "hide the files outside the workspace", outside},
		{"home", "give programs an empty home directory", home},
		{"root", "make the system read-only", readOnlySystem},
		{"loopback", "keep programs from the servers of this machine", loopback},
		{"proxy", "give programs a way to the proxy", proxy},
		{"capabilities", "take all capabilities away", capabilities},
		{"filter", "refuse system calls", filter},
		{"proc", "give programs a /proc of their own", proc},
		{"processes", "hide other processes", processes},
	}
}

// fails returns nil if err is one of those that the protection gives, and says otherwise what
// happened instead.
func fails(what string, err error, want ...error) error {
	if err == nil {
		return errors.New(what + " worked")
	}
	for _, w := range want {
		if errors.Is(err, w) {
			return nil
		}
	}
	return fmt.Errorf("%s failed for another reason: %w", what, err)
}

func hidden(s Spec) (string, error) {
	_, err := os.ReadFile(filepath.Join(s.Workspace, HiddenFile))
	return "a hidden file cannot be read", fails("reading "+HiddenFile, err, unix.EACCES)
}

// frozen first shows that another file of the workspace can be written.
func frozen(s Spec) (string, error) {
	if err := os.WriteFile(filepath.Join(s.Workspace, "free"), []byte(Content), 0o600); err != nil {
		return "", fmt.Errorf("an ordinary file cannot be written either: %w", err)
	}
	path := filepath.Join(s.Workspace, FrozenFile)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		f.Close()
	}
	if err := fails("opening "+FrozenFile+" for writing", err, unix.EROFS); err != nil {
		return "", err
	}
	if err := fails("removing "+FrozenFile, os.Remove(path), unix.EBUSY, unix.EROFS); err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != Content {
		return "", fmt.Errorf("%s cannot be read as it is: %w", FrozenFile, err)
	}
	return "a protected file can be read, and neither written nor removed", nil
}

func pinned(s Spec) (string, error) {
	path := filepath.Join(s.Workspace, PinnedDir)
	return "a protected directory cannot be renamed", fails("renaming "+PinnedDir, os.Rename(path, path+".moved"), unix.EBUSY)
}

// outside also looks above the root directory, where that of the machine would be if it had not been
// detached. Landlock keeps a program from reading files there, but not from finding them.
func outside(s Spec) (string, error) {
	for _, path := range []string{s.Outside, "/.." + s.Outside} {
		_, err := os.Lstat(path)
		if err := fails("finding "+path, err, unix.ENOENT); err != nil {
			return "", err
		}
	}
	return "files outside the workspace do not exist", nil
}

func home(s Spec) (string, error) {
	entries, err := os.ReadDir(s.Home)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("it contains %s", entries[0].Name())
	}
	path := filepath.Join(s.Home, "free")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return "", err
	}
	return "the home directory is empty and can be written", os.Remove(path)
}

// readOnlySystem relies on the mounts: an ordinary user could not write there anyway.
func readOnlySystem(Spec) (string, error) {
	for _, path := range []string{"/", "/usr"} {
		readOnly, err := isReadOnly(path)
		if errors.Is(err, fs.ErrNotExist) { // as in a container that has nothing but perstack
			continue
		}
		if err != nil {
			return "", err
		}
		if !readOnly {
			return "", fmt.Errorf("%s can be written", path)
		}
	}
	return "/ and /usr cannot be written", nil
}

func isReadOnly(path string) (bool, error) {
	var about unix.Statfs_t
	if err := unix.Statfs(path, &about); err != nil {
		return false, fmt.Errorf("look at %s: %w", path, err)
	}
	return about.Flags&unix.ST_RDONLY != 0, nil
}

// connect returns a connection to a port of 127.0.0.1. A server on the same machine answers at
// once, so there is nothing to wait for.
func connect(port int) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	limit := unix.Timeval{Sec: 5}
	err = errors.Join(
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &limit),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit),
	)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func loopback(s Spec) (string, error) {
	fd, err := connect(s.Host)
	if err == nil {
		unix.Close(fd)
	}
	return "a connection to this machine was refused", fails("connecting to one of them", err, unix.ECONNREFUSED)
}

func proxy(s Spec) (string, error) {
	fd, err := connect(s.Proxy)
	if err != nil {
		return "", fmt.Errorf("connect to it: %w", err)
	}
	defer unix.Close(fd)
	answer := make([]byte, len(Answer))
	for n := 0; n < len(answer); {
		got, err := unix.Read(fd, answer[n:])
		if err != nil || got == 0 {
			return "", fmt.Errorf("it did not answer (%w)", errors.Join(err, errors.New("the connection ended")))
		}
		n += got
	}
	if string(answer) != Answer {
		return "", errors.New("another server answered")
	}
	return "the proxy answered", nil
}

// capabilities looks at all sets, including those that limit what programs can gain later.
func capabilities(Spec) (string, error) {
	for _, field := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		value, err := ownStatus(field)
		if err != nil {
			return "", err
		}
		if strings.Trim(value, "0") != "" {
			return "", fmt.Errorf("%s is %s", field, value)
		}
	}
	if value, err := ownStatus("NoNewPrivs"); err != nil || value != "1" {
		return "", errors.Join(errors.New("programs can gain rights"), err)
	}
	return "there are none, and none can be gained", nil
}

// ownStatus is what the kernel says about this process.
func ownStatus(field string) (string, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, field+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("the kernel does not tell %s", field)
}

// filter makes calls that would change nothing if they were allowed.
func filter(Spec) (string, error) {
	if mode, err := ownStatus("Seccomp"); err != nil || mode != "2" {
		return "", errors.Join(errors.New("there is no filter"), err)
	}
	_, keys := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
	_, _, mount := unix.Syscall6(unix.SYS_MOUNT, 0, 0, 0, 0, 0, 0)
	for what, err := range map[string]error{"unshare": unix.Unshare(0), "keyctl": keys, "mount": mount} {
		if err := fails(what, err, unix.EPERM); err != nil {
			return "", err
		}
	}
	return "mount, unshare and keyctl are refused", nil
}

// proc checks that /proc shows this process and the first one, and that settings of the kernel
// cannot be changed there.
func proc(Spec) (string, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && pid != 1 && pid != os.Getpid() {
			return "", errors.New("it shows other processes")
		}
	}
	readOnly, err := isReadOnly("/proc/sys")
	if err == nil && !readOnly {
		err = errors.New("/proc/sys can be written")
	}
	return "/proc shows no other process, and /proc/sys cannot be written", err
}

// processes sends no signal: 0 only asks. Without others there is no process to ask about.
func processes(Spec) (string, error) {
	return "no other process can be signalled", fails("signalling them", unix.Kill(-1, 0), unix.ESRCH)
}
