package landlock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func openAs(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func list(dir string) error {
	_, err := os.ReadDir(dir)
	return err
}

func fileAttacks() []attack {
	denied := errnos(unix.EACCES)
	moved := errnos(unix.EACCES, unix.EXDEV) // as if it were another disk
	outside := func(name string, try func(s *scene, path string) error) attack {
		return attack{name: "file: " + name, inside: denied, try: func(s *scene) error { return try(s, filepath.Join(s.Outside, name)) }}
	}
	readOnly := func(name string, try func(s *scene, path string) error) attack {
		return attack{name: "read-only: " + name, inside: moved, try: func(s *scene) error { return try(s, filepath.Join(s.ReadOnly, name)) }}
	}
	own := func(name string, try func(s *scene, path string) error) attack {
		return attack{name: "own: " + name, try: func(s *scene) error { return try(s, filepath.Join(s.Own, name)) }}
	}
	all := []attack{
		outside("read", func(_ *scene, path string) error { return openAs(path, unix.O_RDONLY) }),
		outside("write", func(_ *scene, path string) error { return openAs(path, unix.O_WRONLY) }),
		outside("append", func(_ *scene, path string) error { return openAs(path, unix.O_WRONLY|unix.O_APPEND) }),
		outside("truncate", func(_ *scene, path string) error { return unix.Truncate(path, 0) }),
		outside("truncate by opening", func(_ *scene, path string) error { return openAs(path, unix.O_RDONLY|unix.O_TRUNC) }),
		outside("unlink", func(_ *scene, path string) error { return unix.Unlink(path) }),
		outside("new", func(_ *scene, path string) error { return openAs(path+" made", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }),
		outside("temporary", func(s *scene, _ string) error { return openAs(s.Outside, unix.O_WRONLY|unix.O_TMPFILE) }),
		outside("directory", func(_ *scene, path string) error { return unix.Mkdir(path+" made", 0o700) }),
		outside("pipe", func(_ *scene, path string) error { return unix.Mkfifo(path+" made", 0o600) }),
		outside("symbolic", func(_ *scene, path string) error { return unix.Symlink("/", path+" made") }),
		outside("list", func(s *scene, _ string) error { return list(s.Outside) }),
		outside("run", func(_ *scene, path string) error { return exec.Command(path).Run() }),
		outside("from there", func(s *scene, path string) error {
			if err := unix.Chdir(s.Outside); err != nil {
				return err
			}
			defer unix.Chdir(s.Own)
			return openAs(filepath.Base(path), unix.O_RDONLY)
		}),
		outside("by a link", func(s *scene, path string) error {
			link := filepath.Join(s.Own, "link")
			if err := unix.Symlink(path, link); err != nil {
				return err
			}
			return openAs(link, unix.O_RDONLY)
		}),
		outside("by its number", func(_ *scene, path string) error {
			fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return openAs("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDWR)
		}),
		outside("by the root", func(_ *scene, path string) error { return openAs("/proc/self/root"+path, unix.O_RDONLY) }),
		outside("watch", func(s *scene, _ string) error {
			fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.InotifyAddWatch(fd, filepath.Dir(s.Outside), unix.IN_CREATE)
			return err
		}),
		outside("watch all", func(s *scene, _ string) error {
			fd, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID, unix.O_RDONLY)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.FanotifyMark(fd, unix.FAN_MARK_ADD, unix.FAN_CREATE|unix.FAN_ONDIR|unix.FAN_EVENT_ON_CHILD, unix.AT_FDCWD, filepath.Dir(s.Outside))
		}),

		readOnly("write", func(_ *scene, path string) error { return openAs(path, unix.O_WRONLY) }),
		readOnly("truncate", func(_ *scene, path string) error { return unix.Truncate(path, 0) }),
		readOnly("unlink", func(_ *scene, path string) error { return unix.Unlink(path) }),
		readOnly("new", func(_ *scene, path string) error { return openAs(path+" made", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }),
		readOnly("rename", func(_ *scene, path string) error { return unix.Rename(path, path+" moved") }),
		readOnly("link into own", func(s *scene, path string) error { return unix.Link(path, filepath.Join(s.Own, "linked")) }),
		readOnly("move into own", func(s *scene, path string) error { return unix.Rename(path, filepath.Join(s.Own, "moved")) }),
		readOnly("flags", func(_ *scene, path string) error {
			fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0)
		}),
		{name: "device: its own commands", inside: denied, reached: errnos(unix.ENOTTY), try: func(*scene) error {
			fd, err := unix.Open("/dev/zero", unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			_, err = unix.IoctlGetTermios(fd, unix.TCGETS)
			return err
		}},
		readOnly("attribute", func(_ *scene, path string) error { return unix.Setxattr(path, "user.canary", []byte("x"), 0) }),

		own("read-only", func(s *scene, _ string) error { return openAs(filepath.Join(s.ReadOnly, "read"), unix.O_RDONLY) }),
		own("list read-only", func(s *scene, _ string) error { return list(s.ReadOnly) }),
		own("new", func(_ *scene, path string) error { return os.WriteFile(path, []byte("x"), 0o600) }),
		own("rename", func(_ *scene, path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			dir := path + " directory"
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Rename(path, filepath.Join(dir, "moved"))
		}),
		own("mode", func(_ *scene, path string) error {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				return err
			}
			return os.Chmod(path, 0o700)
		}),
		own("nothing", func(*scene, string) error { return os.WriteFile("/dev/null", []byte("x"), 0) }),
		own("run", func(*scene, string) error { return exec.Command("/bin/true").Run() }),
	}
	for i := range all {
		switch all[i].name {
		case "file: temporary":
			all[i].optional = true // not every disk can
		case "file: watch":
			all[i].inside = errnos(unix.ENOSYS)
		case "file: watch all":
			all[i].inside, all[i].optional = errnos(unix.EPERM), true
		case "read-only: flags":
			all[i].inside, all[i].optional = errnos(unix.ENOTTY), true
		case "read-only: attribute":
			all[i].inside, all[i].optional = errnos(unix.EOPNOTSUPP), true
		}
	}
	return append(all, moveAttacks(moved)...)
}

// moveAttacks carry files out of the sandbox.
func moveAttacks(moved []syscall.Errno) []attack {
	move := func(name string, try func(out, own string) error) attack {
		return attack{name: "file: " + name, inside: moved, try: func(s *scene) error {
			return try(filepath.Join(s.Outside, name), filepath.Join(s.Own, name))
		}}
	}
	return []attack{
		move("link in", unix.Link),
		move("link out", func(out, own string) error {
			if err := os.WriteFile(own, nil, 0o600); err != nil {
				return err
			}
			return unix.Link(own, out+" made")
		}),
		move("move in", unix.Rename),
		move("move out", func(out, own string) error {
			if err := os.WriteFile(own, nil, 0o600); err != nil {
				return err
			}
			return unix.Rename(own, out+" made")
		}),
		move("replace", func(out, own string) error {
			if err := os.WriteFile(own, nil, 0o600); err != nil {
				return err
			}
			return unix.Rename(own, out)
		}),
		move("exchange", func(out, own string) error {
			if err := os.WriteFile(own, nil, 0o600); err != nil {
				return err
			}
			return unix.Renameat2(unix.AT_FDCWD, own, unix.AT_FDCWD, out, unix.RENAME_EXCHANGE)
		}),
	}
}

// procAttacks look at other processes, and at connections.
func procAttacks() []attack {
	look := func(name string, path func(s *scene) string) attack {
		return attack{name: "proc: " + name, inside: errnos(unix.EACCES), try: func(s *scene) error { return openAs(path(s), unix.O_RDONLY) }}
	}
	victim := func(entry string) attack {
		return look("victim's "+entry, func(s *scene) string { return "/proc/" + strconv.Itoa(s.Victim) + "/" + entry })
	}
	self := func(entry string) attack {
		return attack{name: "proc: own " + entry, own: true, try: func(*scene) error { return openAs("/proc/self/"+entry, unix.O_RDONLY) }}
	}
	return []attack{
		victim("environ"), victim("cmdline"), victim("mem"), victim("maps"), victim("stat"), victim("status"), victim("fd"), victim("fd/0"), victim("cwd/read"),
		victim("task"), victim("net/tcp"),
		look("victim's root", func(s *scene) string { return "/proc/" + strconv.Itoa(s.Victim) + "/root" + s.Outside + "/read" }),
		look("supervisor", func(s *scene) string { return "/proc/" + strconv.Itoa(s.Supervisor) + "/stat" }),
		look("first process", func(*scene) string { return "/proc/1/cmdline" }),
		look("list", func(*scene) string { return "/proc" }),
		look("connections", func(*scene) string { return "/proc/self/net/tcp" }),
		look("connections of a thread", func(*scene) string { return "/proc/thread-self/net/tcp" }),
		look("locks", func(*scene) string { return "/proc/locks" }),
		self("environ"), self("maps"), self("status"), self("fd"), self("cgroup"), self("mountinfo"),
	}
}
