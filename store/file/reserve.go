package file

import (
	"errors"
	"fmt"
	"os"

	"github.com/perstack-go/perstack/store"
)

const (
	// reserveSize is kept on the disk behind the last record, so that the end of a
	// run can be written when nothing else can. A terminal record is a few hundred
	// bytes, plus the answer or the error message.
	reserveSize = 64 << 10
	// reserveStep is how far ahead room is taken, so that an append seldom asks.
	reserveStep = 256 << 10
)

// A reserve is room on the disk behind the end of a file, which does not show in the
// file's length. A file system that cannot do that is served without.
type reserve struct {
	disk        disk
	f           *os.File
	end         int64 // room is taken up to here
	limit       int64 // the process may not write beyond this; 0 if it may
	unsupported bool
}

func newReserve(d disk, f *os.File, length int64) reserve {
	return reserve{disk: d, f: f, end: length, limit: sizeLimit()}
}

// ensure makes sure of the room up to length and of the reserve behind it.
func (r *reserve) ensure(length int64) error {
	if r.limit > 0 && length+reserveSize > r.limit {
		return errTooLarge // taking room in advance does not ask for this limit
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

// cut makes the file end at length and gives back all room behind it.
func (r *reserve) cut(length int64) error {
	if err := r.disk.truncate(r.f, length); err != nil {
		return err
	}
	r.end = length
	return nil
}

// orFull turns the many ways of the system to say "no room" into [store.ErrFull]. What
// to do then depends on whether there is a job to continue.
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
