// Package cell locks a program that nobody trusts into what it needs: some files, the
// ports of its own proxy, and the processes that it has started itself. What is locked in
// cannot get out again, and neither can what it starts.
//
// The kernel keeps the cell: Landlock decides about files, TCP connections, signals,
// tracing and abstract sockets, and a seccomp filter closes what Landlock does not look
// at. Nothing here needs a right that an ordinary user does not have. Where the kernel
// cannot do all of it, [Available] says so; there is no cell with half of its walls.
//
// What a cell does not do: it does not hide that a file exists, how large it is and who
// owns it, nor the mode and times of files from being changed by their owner, nor that a
// process with some number runs; a port is allowed whatever the host is; memory, processor
// and disk are shared. Whoever needs these puts a container around the cell.
//
// What programs have to do without: sockets other than TCP, listening, shared memory and
// queues by name, io_uring, being told of changes of files (fs.watch of Node; asking for
// them works), extended attributes, 32-bit programs, and /proc of the processes that they
// start.
//
// Start reading at [Cell]; landlock_linux.go and rules_linux.go are the two walls.
package cell

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
)

// A Cell is what a program can reach. Nothing of it is reached by default.
type Cell struct {
	// Read are files and trees that it can read, and run programs from. What does not exist,
	// or could not be reached without a cell either, is left out: machines differ in where
	// they keep their libraries.
	Read []string `json:"read,omitempty"`
	// Write are files and trees that it can change too. They must exist.
	Write []string `json:"write,omitempty"`
	// Ports are the TCP ports that it can connect to, whatever the host.
	Ports []uint16 `json:"ports,omitempty"`
	// MaxTasks is how many processes and threads there may be in it together; 0 means that
	// nobody counts. The kernel has no such limit for a cell, so whoever starts the program
	// looks from time to time, and ends it with all it started.
	MaxTasks int `json:"maxTasks,omitempty"`
}

// ErrUnavailable means that the kernel cannot keep a cell.
var ErrUnavailable = errors.New("skills cannot be kept apart from each other here")

// Validate refuses what would not mean what it says: a path that depends on where one is.
func (c *Cell) Validate() error {
	for _, list := range [][]string{c.Read, c.Write} {
		for _, path := range list {
			if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) || filepath.Clean(path) != path {
				return fmt.Errorf("a cell cannot have the path %q: it must be absolute and clean", path)
			}
		}
	}
	for _, port := range c.Ports {
		if port == 0 {
			return errors.New("a cell cannot have the port 0")
		}
	}
	if c.MaxTasks < 0 {
		return errors.New("a cell cannot have less than no processes")
	}
	return nil
}

// Encode returns the cell as text, for the process that will enter it.
func (c *Cell) Encode() (string, error) {
	if err := c.Validate(); err != nil {
		return "", err
	}
	text, err := json.Marshal(c)
	return string(text), err
}

// Decode reads what Encode wrote.
func Decode(text string) (*Cell, error) {
	c := new(Cell)
	if err := json.Unmarshal([]byte(text), c, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("a cell that cannot be read: %w", err)
	}
	return c, c.Validate()
}

// Do calls f in the cell. Only what f does on its own goroutine is in it: what others do
// for f is not. The thread ends with f, since it cannot leave the cell any more. If f
// panics, so does Do.
//
// The cell of a call has the files and ports of [Cell], and no filter of system calls: it
// is for our own code, which does not set out to break the walls.
func (c *Cell) Do(f func()) error {
	crew := NewCrew(c, 1)
	defer crew.Close()
	return crew.Do(f)
}
