package file

import (
	"errors"
	"fmt"
	"os"

	"github.com/perstack-go/perstack/store"
)

const (
	// reserveSize is reserved on the disk after the last record, so that the end of a run can
	// be written on a full disk. A terminal record is a few hundred bytes, plus the answer or
	// the error message.
	reserveSize = 64 << 10
	// reserveStep is how far ahead space is reserved, so that few appends need to.
	reserveStep = 256 << 10
)

// A reserve is space on the disk after the end of a file, which does not change its length.
// File systems without support for it work without a reserve.
type reserve struct {
	disk        disk
	f           *os.File
	end         int64 // space is reserved up to here
	limit       int64 // the process may not write beyond this; 0 if it may
	unsupported bool
}

// ensure reserves space up to length, and the reserve after it.
func (r *reserve) ensure(length int64) error {
	if r.limit > 0 && length+reserveSize > r.limit {
		return errTooLarge // allocating does not check this limit
	}
	if r.unsupported || r.end >= length+reserveSize {
		return nil
	}
	to := length + reserveStep
	err := r.disk.allocate(r.f, r.end, to)
	if isFull(err) {
		to = length + reserveSize
		err = r.disk.allocate(r.f, r.end, to)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		r.unsupported = true
		return nil
	}
	if err == nil {
		r.end = to
	}
	return err
}

// cut truncates the file to length and frees all space after it.
func (r *reserve) cut(length int64) error {
	if err := r.disk.do(OpTruncate, r.f.Name(), func() error { return r.f.Truncate(length) }); err != nil {
		return err
	}
	r.end = length
	return nil
}

// orFull turns the errors of the system for "no space" into [store.ErrFull]. The advice
// depends on whether there is a job to continue.
func orFull(err error, begun bool) error {
	if !isFull(err) {
		return err
	}
	next := "free some space and start again"
	if begun {
		next = "free some space, then continue the job"
	}
	return fmt.Errorf("%w: %w; %s", store.ErrFull, err, next)
}
