package probe

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// beInner tries what a sandbox does in its namespaces. All of it ends with this process.
func beInner() {
	var end [1]byte
	if n, err := unix.Read(mappedFD, end[:]); n != 0 || err != nil { // it closes without a byte
		return
	}
	root, err := makeRoot()
	if err != nil {
		tell(Mounts, err, "", 0)
	} else {
		proc := try("mount /proc", unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""))
		if proc == nil {
			proc = checkProc()
		}
		tell(Mounts, root.detach(), "", 0)
		tell(Proc, proc, "", 0)
		tell(Caches, tryOverlay(), "overlayfs in a user namespace", 0)
	}
	tell(Network, startLoopback(), "", 0)
}

// A newRoot is a root whose predecessor is still mounted on it: the kernel mounts a new /proc
// only where another one can be seen.
type newRoot struct{}

// makeRoot gives this process a root of its own: an empty file system, with a tree of the old one
// that cannot be written.
func makeRoot() (newRoot, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return newRoot{}, try("make the mounts private", err)
	}
	at, err := mountTmpfs()
	if err != nil {
		return newRoot{}, try("mount a tmpfs", err)
	}
	for _, name := range []string{"/old", "/proc", "/usr"} {
		if err := unix.Mkdir(at+name, 0o755); err != nil {
			return newRoot{}, try("make a directory in the new root", err)
		}
	}
	if err := unix.Mount(firstDir("/usr", "/etc", "/"), at+"/usr", "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return newRoot{}, try("bind a directory of the system", err)
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, at+"/usr", unix.AT_RECURSIVE, &readOnly); err != nil {
		return newRoot{}, try("make a bind read-only with mount_setattr", err)
	}
	if err := unix.PivotRoot(at, at+"/old"); err != nil {
		return newRoot{}, try("change the root with pivot_root", err)
	}
	return newRoot{}, try("enter the new root", unix.Chdir("/"))
}

// mountTmpfs mounts a tmpfs on the first of some directories that every system has, and returns
// which.
func mountTmpfs() (at string, err error) {
	for _, at = range []string{"/tmp", "/mnt", "/proc"} {
		if err = unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m"); err == nil {
			return at, nil
		}
	}
	return "", err
}

func firstDir(paths ...string) string {
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			return path
		}
	}
	return "/"
}

// detach removes the old root.
func (newRoot) detach() error {
	if err := unix.Unmount("/old", unix.MNT_DETACH); err != nil {
		return try("detach the old root", err)
	}
	if err := unix.Rmdir("/old"); err != nil {
		return try("detach the old root", err)
	}
	return nil
}

// checkProc makes sure that the new /proc shows this namespace, in which this process is the
// first.
func checkProc() error {
	target, err := os.Readlink("/proc/self")
	if err == nil && target != "1" {
		err = fmt.Errorf("it shows another pid namespace: this process has the number %s", target)
	}
	return try("read the new /proc", err)
}

// tryOverlay mounts an overlayfs as caches need it. It is on a tmpfs: a state directory could
// be on a file system that overlayfs cannot use.
func tryOverlay() error {
	for _, name := range []string{"/lower", "/upper", "/work", "/merged"} {
		if err := unix.Mkdir(name, 0o700); err != nil {
			return try("make a directory in the new root", err)
		}
	}
	err := unix.Mount("overlay", "/merged", "overlay", unix.MS_NOSUID|unix.MS_NODEV, "lowerdir=/lower,upperdir=/upper,workdir=/work,userxattr")
	return try("mount an overlayfs with userxattr", err)
}

// startLoopback switches the loopback interface on and listens there.
func startLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return try("make a socket", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(lo))); errno != 0 {
		return try("switch the loopback interface on", errno)
	}
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(fd, 1)
	}
	return try("listen on the loopback interface", err)
}
