//go:build unix

package evil

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
)

func makePipe(path string) error { return syscall.Mkfifo(path, 0o600) }

// makeSocket makes it where its path is short, since an address has 100 bytes only, and
// moves it.
func makeSocket(path string) error {
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		return err
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	return os.Rename(filepath.Join(dir, "s"), path)
}
