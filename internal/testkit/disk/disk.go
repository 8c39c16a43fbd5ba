// Package disk is a disk that fails when a test wants it to, and that can end the
// process in the middle of what it does.
//
// A [Disk] is handed to a store as file.Options.Disk. It numbers the operations of the
// store, from 1, and applies its faults to them. A first run without faults says how
// many operations there are; a sweep then runs again, once for each:
//
//	whole := disk.New()
//	run(whole)
//	for n := range whole.Count() {
//		run(disk.New(disk.FailAt(n+1, syscall.EIO)))
//	}
//
// With [KillAt] the run has to be in a process of its own. Several stores may share a
// Disk; their operations are then counted together.
package disk

import (
	"os"
	"slices"
	"sync"
)

// An Op is one operation of a store.
type Op struct {
	N    int    // counts from 1
	Kind string // write, sync, rename, ... as the constants of store/file name it
	Name string // last part of the path of what is changed
	Size int    // bytes of a write
}

// A Disk counts operations and applies faults to them. It is safe for concurrent use.
type Disk struct {
	faults []Fault

	mu  sync.Mutex
	ops []Op
}

// New returns a disk with faults. Of several that match an operation, the first counts.
func New(faults ...Fault) *Disk { return &Disk{faults: faults} }

// Do implements the interface of store/file.
func (d *Disk) Do(kind, name string, size int, run func(size int) error) error {
	d.mu.Lock()
	op := Op{len(d.ops) + 1, kind, name, size}
	d.ops = append(d.ops, op)
	d.mu.Unlock()
	for _, f := range d.faults {
		if f.match(op) {
			return f.do(op, run)
		}
	}
	return run(size)
}

// Ops returns the operations so far, in the order in which they began.
func (d *Disk) Ops() []Op {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.ops)
}

// Count returns the number of operations so far.
func (d *Disk) Count() int { return len(d.Ops()) }

// A Fault does something else in the place of some operations.
type Fault struct {
	match func(Op) bool
	do    func(op Op, run func(size int) error) error
}

// When calls do for the operations that match. run carries the operation out, a write
// with its first bytes only if it is given a smaller size.
func When(match func(Op) bool, do func(op Op, run func(size int) error) error) Fault {
	return Fault{match, do}
}

func at(n int, do func(op Op, run func(size int) error) error) Fault {
	return Fault{func(op Op) bool { return op.N == n }, do}
}

// FailAt lets the n-th operation not take place, and answers with err.
func FailAt(n int, err error) Fault {
	return at(n, func(Op, func(int) error) error { return err })
}

// FailFrom is a disk that is broken from the n-th operation on.
func FailFrom(n int, err error) Fault {
	return Fault{func(op Op) bool { return op.N >= n }, func(Op, func(int) error) error { return err }}
}

// FailAfter carries the n-th operation out and answers with err nevertheless, as a
// system does that noticed too late.
func FailAfter(n int, err error) Fault {
	return at(n, func(op Op, run func(int) error) error {
		_ = run(op.Size) // err is the answer
		return err
	})
}

// ShortWriteAt lets the n-th operation write that many bytes and answer with err. An
// operation that is no write does not take place, as with [FailAt].
func ShortWriteAt(n, bytes int, err error) Fault {
	return at(n, func(op Op, run func(int) error) error {
		if op.Size > 0 {
			_ = run(min(bytes, op.Size)) // err is the answer
		}
		return err
	})
}

// KillAt ends the process right after the n-th operation, without another word, as
// kill -9 does. KillAt(0) ends it right before the first.
func KillAt(n int) Fault {
	match := func(op Op) bool { return op.N == max(n, 1) }
	return Fault{match, func(op Op, run func(int) error) error {
		if n > 0 {
			_ = run(op.Size) // the process dies next
		}
		return kill()
	}}
}

// TearAt ends the process in the middle of the n-th operation, when that many bytes of
// a write have been written. Of another operation it ends right before.
func TearAt(n, bytes int) Fault {
	return at(n, func(op Op, run func(int) error) error {
		if op.Size > 0 {
			_ = run(min(bytes, op.Size)) // the process dies next
		}
		return kill()
	})
}

// kill does not return.
func kill() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // the signal is on its way
}
