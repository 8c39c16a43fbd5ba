//go:build !unix

package prompt

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// New returns an Approver that has no answers: on this system, single keys cannot be read yet.
func New(in *os.File, out io.Writer, opts Options) *Approver {
	return newApprover(newConsole(in, out), opts)
}

func newConsole(_ *os.File, out io.Writer) console { return noTerminal{out} }

type noTerminal struct{ io.Writer }

func (noTerminal) size() (columns, rows int) { return 0, 0 }

func (noTerminal) raw() (undo func(), err error) {
	return nil, errors.New("single keys cannot be read on this system")
}

func (noTerminal) read(context.Context, time.Duration) ([]byte, error) { return nil, io.EOF }
