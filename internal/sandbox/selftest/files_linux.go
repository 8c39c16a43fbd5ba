package selftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// readOnlyRoot checks the flags of the root file system, and tries to write to it: with
// several file systems mounted on top of each other, either alone could be wrong.
func readOnlyRoot(context.Context, Spec) (string, error) {
	var about unix.Statfs_t
	if err := unix.Statfs("/", &about); err != nil {
		return "", err
	}
	if about.Flags&unix.ST_RDONLY == 0 {
		return "", errors.New("the root file system is mounted writable")
	}
	const name = "/.perstack-selftest"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		f.Close()
		_ = os.Remove(name)
		return "", errors.New("a file could be made in /")
	}
	if !errors.Is(err, unix.EROFS) {
		return "", fmt.Errorf("making a file in / failed for another reason: %w", err)
	}
	return "nothing can be written to /", nil
}

// masked checks that masked paths show nothing.
func masked(_ context.Context, spec Spec) (string, error) {
	for _, path := range spec.Masked {
		if err := showsNothing(path); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d paths show nothing", len(spec.Masked)), nil
}

// showsNothing returns an error if a path is not masked.
func showsNothing(path string) error {
	hidden, err := isMasked(path)
	switch {
	case err != nil:
		return fmt.Errorf("whether %q is masked cannot be told: %w", path, err)
	case !hidden:
		return fmt.Errorf("%q is not masked", path)
	}
	return nil
}

// isMasked does not read the content: a file or directory that is not empty is not masked.
func isMasked(path string) (bool, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	case info.IsDir():
		return isEmptyDir(path)
	}
	return info.Mode()&fs.ModeCharDevice != 0 && isNull(path) || info.Mode().IsRegular() && info.Size() == 0, nil
}

func isEmptyDir(path string) (bool, error) {
	d, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer d.Close()
	_, err = d.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

func isNull(path string) bool {
	var st unix.Stat_t
	return unix.Lstat(path, &st) == nil && st.Rdev == unix.Mkdev(1, 3)
}

// workspace checks that the workspace exists, and is writable or read-only as expected.
// Nothing is written to it: it belongs to the user.
func workspace(_ context.Context, spec Spec) (string, error) {
	if _, err := isEmptyDir(spec.Work); err != nil {
		return "", fmt.Errorf("the workspace cannot be read: %w", err)
	}
	var about unix.Statfs_t
	if err := unix.Statfs(spec.Work, &about); err != nil {
		return "", fmt.Errorf("the workspace cannot be looked at: %w", err)
	}
	err := unix.Access(spec.Work, unix.W_OK|unix.X_OK)
	switch mounted := about.Flags&unix.ST_RDONLY != 0; {
	case spec.ReadOnlyWork && !(mounted && errors.Is(err, unix.EROFS)):
		return "", errors.New("the workspace is not mounted read-only")
	case spec.ReadOnlyWork:
		return "readable, read-only", nil
	case err != nil:
		return "", fmt.Errorf("the workspace cannot be written to: %w", err)
	}
	return "readable and writable", nil
}

// dockerSocket checks that no container daemon can be asked for a container without
// isolation.
func dockerSocket(context.Context, Spec) (string, error) {
	for _, path := range []string{
		"/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
		"/var/run/podman/podman.sock", "/run/crio/crio.sock", "/run/buildkit/buildkitd.sock",
	} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) {
			return "", fmt.Errorf("%s exists", path)
		}
	}
	return "no socket of a container daemon", nil
}

// usualDevices are the devices of every container, by name below /dev.
var usualDevices = map[string]uint64{
	"null": unix.Mkdev(1, 3), "zero": unix.Mkdev(1, 5), "full": unix.Mkdev(1, 7), "random": unix.Mkdev(1, 8), "urandom": unix.Mkdev(1, 9),
	"tty": unix.Mkdev(5, 0), "ptmx": unix.Mkdev(5, 2),
}

// usualEntries are the other entries of /dev: links to our own streams, and directories
// that the kernel fills for this container alone. core links to a file that Docker masks.
var usualEntries = []string{"fd", "stdin", "stdout", "stderr", "core", "ptmx", "pts", "shm", "mqueue", "console"}

// devices checks that there are no others, such as a disk or a graphics card.
func devices(context.Context, Spec) (string, error) {
	entries, err := os.ReadDir("/dev")
	if err != nil {
		return "", err
	}
	var strange []string
	for _, e := range entries {
		if !isUsual(e) {
			strange = append(strange, e.Name())
		}
	}
	if strange != nil {
		const most = 5
		more := ""
		if len(strange) > most {
			more = fmt.Sprintf(" and %d more", len(strange)-most)
			strange = strange[:most]
		}
		return "", fmt.Errorf("/dev has %q%s", strings.Join(strange, ", "), more)
	}
	return "only the usual ones", nil
}

func isUsual(e fs.DirEntry) bool {
	if e.Type()&fs.ModeDevice == 0 || e.Name() == "console" { // a terminal of this container, if it has one
		return slices.Contains(usualEntries, e.Name())
	}
	var st unix.Stat_t
	want, known := usualDevices[e.Name()]
	return known && unix.Lstat("/dev/"+e.Name(), &st) == nil && st.Rdev == want
}
