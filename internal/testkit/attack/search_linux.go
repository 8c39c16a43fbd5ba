package attack

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
)

// Searched is what a search came to.
type Searched struct {
	Found     []string `json:"found"`     // places that have the secret of another, in whatever spelling
	Files     int      `json:"files"`     // that could be read
	Denied    int      `json:"denied"`    // files and directories that could not
	Variables int      `json:"variables"` // of its own
	Open      []string `json:"open"`      // files that it was given, beside its standard streams
}

// Search looks for a hidden marker in everything that can be read: files, what the kernel
// shows of processes, variables, arguments, files that somebody left open.
func Search(ctx context.Context, hidden string, given []string) (Searched, error) {
	marker, err := unhide(hidden)
	if err != nil {
		return Searched{}, err
	}
	needles := spellings(marker)
	out := Searched{Found: []string{}, Open: append([]string{}, given...)}
	look := func(place string, data []byte) {
		for _, n := range needles {
			if bytes.Contains(data, n) {
				out.Found = append(out.Found, place)
				return
			}
		}
	}
	out.Variables = len(os.Environ())
	look("its variables", []byte(strings.Join(os.Environ(), "\x00")))
	look("its arguments", []byte(strings.Join(os.Args, "\x00")))
	own := "/proc/" + strconv.Itoa(os.Getpid())
	seen := map[string]bool{}
	for _, top := range tops() {
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return filepath.SkipAll
			case err != nil:
				out.Denied++
				return nil
			case d.IsDir() && seen[path]:
				return filepath.SkipDir
			case d.IsDir() || seen[path]:
				seen[path] = true
				return nil
			case strings.HasSuffix(path, "/mem") && (strings.HasPrefix(path, own+"/") || strings.HasPrefix(path, "/proc/self/")):
				return nil // its own memory has the marker, for it is looking for it
			case d.Type()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) != 0:
				return nil
			}
			seen[path] = true
			data, err := readSome(path)
			if err != nil {
				out.Denied++
				return nil
			}
			out.Files++
			look(path, data)
			return nil
		})
	}
	return out, nil
}

// tops are where a search begins: at the root, and where it can continue if that is closed.
func tops() []string {
	home, _ := os.UserHomeDir()
	work, _ := os.Getwd()
	all := []string{"/", work, home, os.TempDir(), filepath.Dir(home), filepath.Dir(os.TempDir()), "/proc/self", "/proc/" + strconv.Itoa(os.Getpid()), "/proc/" + strconv.Itoa(os.Getppid()), "/proc/1"}
	all = append(all, landlock.SystemPaths()...)
	return append(all, strings.Fields("/dev /etc /home /perstack /proc /root /run /skills /skills/npm /srv /sys /tmp /usr /var /workspace /dev/shm /dev/mqueue /proc/net /proc/sysvipc /proc/keys")...)
}

// inherited are the files that the parent process left open for this program.
func inherited() []string {
	given := []string{}
	for fd := 3; fd < 1024; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			continue
		}
		to, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if !strings.HasPrefix(to, "anon_inode:") && to != "/dev/null" && !strings.HasPrefix(to, "/sys/fs/cgroup/") { // what Go itself opens
			given = append(given, to)
		}
	}
	return given
}

// spellings are the ways in which a secret may be written down.
func spellings(marker []byte) [][]byte {
	all := [][]byte{marker, []byte(hex.EncodeToString(marker)), []byte(strings.ToUpper(hex.EncodeToString(marker)))}
	for shift := range 3 { // the part of a base64 text that is the same wherever the marker stands
		padded := append(make([]byte, shift), marker...)
		text := base64.RawStdEncoding.EncodeToString(padded[:len(padded)/3*3])
		all = append(all, []byte(text[(shift*8+5)/6:]))
	}
	return all
}

const maxRead = 64 << 20

// readSome reads a file that may be one of the kernel's, which would make others wait.
func readSome(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	_ = f.SetReadDeadline(time.Now().Add(time.Second)) // where there is no end to wait for, there is no deadline either
	return io.ReadAll(io.LimitReader(f, maxRead))
}
