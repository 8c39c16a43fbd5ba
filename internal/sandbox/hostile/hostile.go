// Package hostile is the program that an audit starts: it tries what a program of a job must not
// be able to do, and says what it could do.
//
// It is part of perstack itself, so that an audit needs nothing else. It harms nothing: it reads
// the first byte of what it can open, sends nothing of value, and signals with signal 0. It is
// below internal/sandbox because it starts processes. Start reading at [Run].
package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// A Report is what the program found out.
type Report struct {
	Args    []string `json:"args"`
	Environ []string `json:"environ"`
	Dir     string   `json:"dir"`
	Stdin   int      `json:"stdin"` // bytes that could be read
	Did     []string `json:"did"`   // attacks that succeeded
	Failed  []string `json:"failed"`
}

// The attacks. Each takes one argument, behind "=".
const (
	Read    = "read"    // open a file for reading
	Write   = "write"   // open a file for writing, without changing it
	Connect = "connect" // a TCP connection to address:port
	Signal  = "signal"  // signal 0 to a process
	Memory  = "memory"  // the environment and the memory of a process
	Linger  = "linger"  // leave a process behind that writes its number to a file
	Sleep   = "sleep"   // for so many milliseconds
	NoInput = "noinput" // do not wait for the end of standard input
	Hold    = "hold"    // use what was taken for long, unless a limit ends the program
	Flood   = "flood"   // write so many bytes to standard output, before the report
	Rename  = "rename"  // rename a file or directory, and back
	Others  = "others"  // signal 0 to every other process; the value means nothing
	Tasks   = "tasks"   // have so many processes at the same time
	Say     = "say"     // write the value to standard output, before the report
	Grow    = "grow"    // make a file of 2 MiB
	Fill    = "fill"    // fill a file with 64 MiB, remove it, and keep it open
	Use     = "use"     // so many bytes of memory
	Make    = "make"    // make a file, and remove it
	Has     = "has"     // what the value names; see the constants below
)

// What a program can have that one in a container must not.
const (
	Capabilities  = "capabilities"   // of the kernel
	NewPrivileges = "new-privileges" // programs that it starts can gain rights
	AllCalls      = "all-calls"      // no filter of system calls
	Root          = "root"           // as user or group
	Disks         = "disks"          // devices below /dev
	Processors    = "processors"     // without a limit of their time
)

// NoQuota is the error of an attack on processors whose limit the kernel does not show.
const NoQuota = "the kernel does not say"

// names lists the attacks.
var names = []string{Read, Write, Connect, Signal, Memory, Linger, Sleep, Flood, Rename, Others, Tasks, Say, Grow, Fill, Use, Make, Has, Datagram, Query, Socket, Tunnel}

// patience is how long a connection may take.
const patience = 2 * time.Second

// Run does the attacks that args name, in their order, and writes the report. What is no attack is
// an ordinary argument.
func Run(ctx context.Context, p Process) error {
	for _, arg := range p.Args {
		if mode, ok := strings.CutPrefix(arg, Serve+"="); ok {
			return serve(p, mode)
		}
	}
	r := Report{Args: p.Args, Environ: p.Environ, Dir: p.Dir}
	if !slices.Contains(p.Args, NoInput) {
		if data, err := io.ReadAll(io.LimitReader(p.Stdin, 1)); err == nil {
			r.Stdin = len(data)
		}
	}
	for _, arg := range p.Args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || !slices.Contains(names, name) {
			continue
		}
		if err := attack(ctx, p, name, value); err != nil {
			r.Failed = append(r.Failed, arg+": "+err.Error())
		} else {
			r.Did = append(r.Did, arg)
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s\n", data)
	return err
}

// A Process is what the program was started with.
type Process struct {
	Program string // its own file
	Args    []string
	Environ []string
	Dir     string
	Stdin   io.Reader
	Stdout  io.Writer
	Prefix  []string // arguments that lead to Run
}

func attack(ctx context.Context, p Process, name, value string) error {
	switch name {
	case Read:
		return open(value, os.O_RDONLY)
	case Write:
		return open(value, os.O_WRONLY)
	case Connect:
		conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", value)
		if err != nil {
			return err
		}
		return conn.Close()
	case Datagram, Query, Socket, Tunnel:
		return overNetwork(ctx, name, value)
	case Signal:
		return signal(value)
	case Others:
		return signal("-1")
	case Rename:
		if err := os.Rename(value, value+".moved"); err != nil {
			return err
		}
		return os.Rename(value+".moved", value)
	case Make:
		f, err := os.OpenFile(value, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(f.Close(), os.Remove(value))
	case Has:
		return has(value)
	case Tasks:
		return tasks(p, value)
	case Grow:
		return grow(value)
	case Fill:
		return fill(p, value)
	case Use:
		return use(p, value)
	case Say:
		_, err := io.WriteString(p.Stdout, value)
		return err
	case Memory:
		return memory(value)
	case Linger:
		return linger(p, value)
	case Flood:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return err
		}
		line := strings.Repeat("x", 1023) + "\n"
		for ; n > 0 && err == nil; n -= int64(len(line)) {
			_, err = io.WriteString(p.Stdout, line)
		}
		return err
	case Sleep:
		ms, err := strconv.Atoi(value)
		if err != nil {
			return err
		}
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-ctx.Done():
		}
		return nil
	}
	return fmt.Errorf("there is no attack %s", name)
}

// open reads one byte, since some files can be opened and not read.
func open(path string, flag int) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if flag != os.O_RDONLY {
		return nil
	}
	if info.IsDir() {
		_, err = f.Readdirnames(1)
	} else {
		_, err = f.Read(make([]byte, 1))
	}
	return err
}

// memory reads what a process keeps for itself. One way is enough.
func memory(pid string) error {
	var failed error
	for _, name := range []string{"environ", "maps", "mem"} {
		path := "/proc/" + pid + "/" + name
		f, err := os.Open(path)
		if err == nil && name != "mem" {
			_, err = f.Read(make([]byte, 1)) // an empty or erased environment ends at once
		}
		if f != nil {
			f.Close()
		}
		if err == nil {
			return nil
		}
		failed = err
	}
	return failed
}

// linger starts this program again, which waits for a minute, and leaves its number behind.
func linger(p Process, file string) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	args := append(append([]string{p.Program}, p.Prefix...), Sleep+"=60000")
	child, err := os.StartProcess(p.Program, args, &os.ProcAttr{Env: p.Environ, Files: []*os.File{null, null, null}, Sys: ownSession()})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(child.Pid)), 0o600); err != nil {
		return err
	}
	return child.Release()
}
