package attack

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Visited begins the names of files that an attacker leaves where it must not be able to write.
const Visited = "attacker-was-here"

// Attack tries everything against the victim of a target.
func Attack(ctx context.Context, c Target) []Result {
	var all []Result
	for _, some := range []func(context.Context, Target) []Result{controls, files, processes, memory, proxyAttacks} {
		all = append(all, some(ctx, c)...)
	}
	return all
}

// controls show that the attacker itself works: what it may do, it can do.
func controls(_ context.Context, _ Target) []Result {
	home, _ := os.UserHomeDir()
	var out []Result
	for what, dir := range map[string]string{"home": home, "tmp": os.TempDir()} {
		name := filepath.Join(dir, "own.txt")
		err := os.WriteFile(name, []byte("mine"), 0o600)
		if err == nil {
			_, err = os.ReadFile(name)
		}
		out = append(out, result("control: its own "+what, err))
	}
	return append(out, result("control: a signal to itself", unix.Kill(os.Getpid(), 0)))
}

// files tries to read and to change what is the victim's.
func files(_ context.Context, c Target) []Result {
	var out []Result
	add := func(attack string, err error) { out = append(out, result(attack, err)) }
	read := func(attack, name string) { _, err := os.ReadFile(name); add(attack, err) }
	list := func(attack, name string) { _, err := os.ReadDir(name); add(attack, err) }
	home, _ := os.UserHomeDir()
	own := map[string]string{"home": home, "tmp": os.TempDir()}
	for what, dir := range map[string]string{"home": c.Home, "tmp": c.Tmp} {
		secret := filepath.Join(dir, c.Private)
		read("read its "+what, secret)
		list("list its "+what, dir)
		list("list all of "+what, filepath.Dir(dir))
		link := Visited + "-link-" + what + strconv.Itoa(os.Getpid())
		if err := os.Symlink(secret, link); err == nil { // in the working directory, if it may write there
			read("follow a link to its "+what, link)
			os.Remove(link)
		} else {
			add("follow a link to its "+what, err)
		}
		add("open a handle of its "+what, openThrough(dir, c.Private))
		add("watch all of "+what, watch(filepath.Dir(dir)))
		add("write to its "+what, os.WriteFile(filepath.Join(dir, Visited), nil, 0o600))
		// To a place of its own that is on the same disk.
		mine := filepath.Join(own[what], Visited)
		add("link out of its "+what, os.Link(secret, mine))
		add("move out of its "+what, os.Rename(secret, mine+"-moved"))
		add("change its "+what, os.WriteFile(secret, nil, 0o600))
		add("remove from its "+what, os.Remove(secret))
	}
	if c.Package != "" {
		read("read its package", c.Package)
		list("list its package", filepath.Dir(c.Package))
		add("change its package", os.WriteFile(c.Package, nil, 0o600))
	}
	for _, name := range []string{"/skills", "/skills/npm", "/perstack", "/proc", "/tmp", "/home/perstack", "/root", "/run", "/dev/shm", "/sys"} {
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			read("place: "+name, name)
			continue
		}
		list("place: "+name, name)
	}
	return out
}

// watch asks the kernel to report new names in a directory: they would show where later
// skills have their files.
func watch(dir string) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_OPEN|unix.IN_ACCESS)
	return err
}

// openThrough opens a file by a handle of its directory: a handle of the path is allowed, what is
// behind it is not.
func openThrough(dir, name string) error {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	in, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(in)
	}
	return err
}

// processes tries to see and to disturb the victim, its child, its parent, and
// the engine.
func processes(_ context.Context, c Target) []Result {
	var out []Result
	add := func(attack string, err error) { out = append(out, result(attack, err)) }
	for who, pid := range map[string]int{"victim": c.PID, "its child": c.Child, "its parent": c.Above, "the engine": 1} {
		dir := "/proc/" + strconv.Itoa(pid)
		for _, name := range []string{"environ", "cmdline", "mem", "maps", "status", "stat", "mountinfo", "net/tcp", "syscall", "auxv", "task/" + strconv.Itoa(pid) + "/environ"} {
			_, err := readSome(filepath.Join(dir, name))
			add("read "+name+" of "+who, err)
		}
		for _, name := range []string{"cwd", "exe", "root", "fd/0"} {
			_, err := os.Readlink(filepath.Join(dir, name))
			add("follow "+name+" of "+who, err)
		}
		_, err := os.ReadDir(filepath.Join(dir, "fd"))
		add("list what is open of "+who, err)
		add("signal nothing to "+who, unix.Kill(pid, 0))
		add("signal SIGCONT to "+who, unix.Kill(pid, unix.SIGCONT))
		add("signal a thread of "+who, unix.Tgkill(pid, pid, unix.SIGCONT))
		add("queue a signal to "+who, queue(pid))
		add("debug "+who, trace(pid))
		add("read the memory of "+who, readMemory(pid))
		// To what they are: that it may be done is enough.
		var limit unix.Rlimit
		err = unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit)
		add("read limits of "+who, err)
		if err != nil {
			_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
		}
		add("set limits of "+who, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil))
		raw, _ := unix.Getpriority(unix.PRIO_PROCESS, pid)
		add("slow down "+who, unix.Setpriority(unix.PRIO_PROCESS, pid, 20-raw))
		var set unix.CPUSet
		_ = unix.SchedGetaffinity(pid, &set)
		add("move "+who+" to another processor", unix.SchedSetaffinity(pid, &set))
		add("take an open file of "+who, takeFile(pid))
	}
	add("signal the group of victim", unix.Kill(-group(c.PID), 0))
	return out
}

func group(pid int) int {
	if id, err := unix.Getpgid(pid); err == nil && id > 1 {
		return id
	}
	return pid
}

func queue(pid int) error {
	var info [128]byte
	*(*int32)(unsafe.Pointer(&info[0])) = int32(unix.SIGCONT)
	*(*int32)(unsafe.Pointer(&info[8])) = -1 // SI_QUEUE
	_, _, errno := unix.Syscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(unix.SIGCONT), uintptr(unsafe.Pointer(&info[0])))
	return orNil(errno)
}

func trace(pid int) error {
	asked := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the end of the thread lets the process go
		asked <- unix.PtraceSeize(pid)
	}()
	return <-asked
}

func readMemory(pid int) error {
	buf := make([]byte, 16)
	local := []unix.Iovec{{Base: &buf[0], Len: 16}}
	_, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: 0x400000, Len: 16}}, 0)
	return err
}

// takeFile copies an open file of a process, by a handle of the process.
func takeFile(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, 0, nil, 0); err == nil {
		return nil
	}
	got, err := unix.PidfdGetfd(fd, 0, 0)
	if err == nil {
		unix.Close(got)
	}
	return err
}

func orNil(errno unix.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// memory tries what programs share by a number or a name.
func memory(context.Context, Target) []Result {
	_, _, shm := unix.Syscall(unix.SYS_SHMGET, sharedKey, 4096, 0)
	_, _, made := unix.Syscall(unix.SYS_SHMGET, 0, 4096, unix.IPC_CREAT|0o666)
	_, _, queue := unix.Syscall(unix.SYS_MSGGET, 0, unix.IPC_CREAT|0o666, 0)
	_, _, sem := unix.Syscall(unix.SYS_SEMGET, 0, 1, unix.IPC_CREAT|0o666)
	_, keys := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING, true)
	return []Result{
		result("find shared memory", orNil(shm)), result("make shared memory", orNil(made)), result("make a message queue", orNil(queue)),
		result("make a semaphore", orNil(sem)), result("open the key rings", keys),
		result("shared: a file in /dev/shm", os.WriteFile("/dev/shm/"+Visited, nil, 0o600)),
	}
}
