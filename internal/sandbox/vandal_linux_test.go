package sandbox

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// secretMark is in the content of every file that must not be read.
const secretMark = "secret-8f3a61"

// playVandal reads all names that it knows, and performs random operations on the workspace, its
// working directory. The arguments are the seed, how many operations, and the names. It prints each path at which it could read a secret.
func playVandal(args []string) int {
	seed, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return 1
	}
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return 1
	}
	wd, err := os.Getwd()
	if err != nil {
		return 1
	}
	v := vandal{chance: rand.New(rand.NewPCG(seed, 1)), dir: wd, names: args[2:]}
	for _, name := range v.names {
		_ = v.read(unix.AT_FDCWD, name)
	}
	for range count {
		if v.done(v.chance.IntN(operations)) == nil {
			v.succeeded++
		}
	}
	fmt.Printf("%d succeeded\n", v.succeeded)
	return 0
}

// A vandal damages what it can.
type vandal struct {
	chance    *rand.Rand
	dir       string
	names     []string
	kept      []int // directories that it has opened: they lead somewhere even when they are moved
	succeeded int
}

const operations = 17

// own are names that it makes itself. Some of them are protected when they exist at the start.
var own = []string{"a", "b", "a/c", "a/b/c", ".env", ".env.new", ".git", "a/.git", "a/perstack.toml", "hooks", "config", "HEAD"}

// name is a path in the workspace, in one of several spellings.
func (v *vandal) name() string {
	pick := func(from []string) string { return from[v.chance.IntN(len(from))] }
	name := pick(v.names)
	switch v.chance.IntN(8) {
	case 0, 1:
		name = pick(own)
	case 2:
		name = filepath.Dir(name)
	case 3:
		name = filepath.Join(pick(own), filepath.Base(name)) // where a directory was moved to
	case 4:
		name = filepath.Join(filepath.Dir(name), pick(own))
	}
	if filepath.IsAbs(name) {
		return name
	}
	switch v.chance.IntN(8) {
	case 0:
		return "/proc/self/cwd/" + name
	case 1:
		return filepath.Join(v.dir, name)
	case 2:
		return "a/../" + name
	}
	return name
}

// at is a directory to which names are relative.
func (v *vandal) at() int {
	if len(v.kept) > 0 && v.chance.IntN(4) == 0 {
		return v.kept[v.chance.IntN(len(v.kept))]
	}
	return unix.AT_FDCWD
}

// done performs one operation. Most fail, which is fine.
func (v *vandal) done(operation int) error {
	one, two, from, to := v.name(), v.name(), v.at(), v.at()
	switch operation {
	case 0, 1:
		return v.read(from, one)
	case 2:
		return v.write(from, one, unix.O_WRONLY|unix.O_CREAT)
	case 3:
		return v.write(from, one, unix.O_WRONLY|unix.O_TRUNC)
	case 4:
		return v.write(from, one, unix.O_WRONLY|unix.O_APPEND)
	case 5:
		return unix.Unlinkat(from, one, 0)
	case 6:
		return unix.Unlinkat(from, one, unix.AT_REMOVEDIR)
	case 7, 8:
		return unix.Renameat2(from, one, to, two, 0)
	case 9, 10:
		return unix.Renameat2(from, one, to, two, unix.RENAME_EXCHANGE)
	case 11:
		return unix.Linkat(from, one, to, two, v.chance.IntN(2)*unix.AT_SYMLINK_FOLLOW)
	case 12:
		return unix.Symlinkat(two, from, one)
	case 13:
		return unix.Fchmodat(from, one, []uint32{0, 0o555, 0o644, 0o700, 0o777}[v.chance.IntN(5)], 0)
	case 14:
		return unix.Truncate(one, int64(v.chance.IntN(3)))
	case 15:
		return unix.Mkdirat(from, one, 0o755)
	}
	return v.keep(from, one)
}

func (v *vandal) read(at int, name string) error {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	buffer := make([]byte, 4096)
	n, err := unix.Read(fd, buffer)
	if err == nil && bytes.Contains(buffer[:n], []byte(secretMark)) {
		fmt.Println("read", strings.TrimPrefix(name, v.dir))
	}
	return err
}

func (v *vandal) write(at int, name string, flags int) error {
	fd, err := unix.Openat(at, name, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("vandal"))
	return err
}

// keep opens a directory for later.
func (v *vandal) keep(at int, name string) error {
	fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if len(v.kept) < 8 {
		v.kept = append(v.kept, fd)
		return nil
	}
	i := v.chance.IntN(len(v.kept))
	unix.Close(v.kept[i])
	v.kept[i] = fd
	return nil
}
