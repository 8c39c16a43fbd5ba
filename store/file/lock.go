package file

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/filelock"
	identity "github.com/perstack-go/perstack/internal/owner"
	"github.com/perstack-go/perstack/store"
)

// The lock of a job is a kernel lock on its journal, so it cannot outlive its owner, and
// removing a file does not break it. The file "lock" only says which process the owner is.

// An owner is the identity of a process, as in the file "lock".
type owner struct {
	PID       int       `json:"pid"`
	StartTime string    `json:"startTime,omitzero"` // when the process started, in a unit of the system's
	BootID    string    `json:"bootId,omitzero"`
	Host      string    `json:"host,omitzero"`
	Since     time.Time `json:"since"` // when it opened the job
}

func thisProcess() owner {
	id := identity.This()
	return owner{
		PID: id.PID, StartTime: id.StartTime, BootID: id.BootID, Host: id.Host,
		Since: time.Now().UTC().Truncate(time.Millisecond),
	}
}

// probeLimit bounds how long a writer waits for readers that look at the lock.
const probeLimit = time.Second

// acquire makes this open file the only writer of the journal. It does not wait for another
// writer. It does wait for [held], with which a reader checks whether a job is running and
// which has the lock for a moment.
func acquire(ctx context.Context, f *os.File) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	for {
		if ok, err := filelock.Try(f, true); ok || err != nil {
			return ok, err
		}
		// A writer excludes a shared lock, a reader's probe does not.
		if ok, err := filelock.Try(f, false); !ok || err != nil {
			return false, err
		}
		if err := filelock.Release(f); err != nil {
			return false, err
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-time.After(time.Millisecond):
		}
	}
}

// held reports whether a process writes the journal.
func held(f *os.File) (bool, error) {
	ok, err := filelock.Try(f, false)
	if !ok || err != nil {
		return !ok, err
	}
	return false, filelock.Release(f)
}

// locked returns the error of a second writer, with what is known about the first.
func locked(dir *os.Root, jobID string) error {
	e := &store.LockedError{JobID: jobID, Holder: "another process"}
	o, ok := readOwner(dir)
	me := thisProcess()
	switch {
	case !ok: // the writer has not written the file yet
	case o.PID == me.PID && o.StartTime == me.StartTime && o.BootID == me.BootID && o.Host == me.Host:
		e.Holder = fmt.Sprintf("this process already, since %s", o.Since.Format(time.RFC3339))
	case o.Host != "" && o.Host != me.Host:
		e.Holder += fmt.Sprintf(" (pid %d on %s, since %s)", o.PID, o.Host, o.Since.Format(time.RFC3339))
	default:
		e.Holder += fmt.Sprintf(" (pid %d, since %s)", o.PID, o.Since.Format(time.RFC3339))
	}
	return e
}

func readOwner(dir *os.Root) (owner, bool) {
	var o owner
	f, err := openRegular(dir, lockName)
	if err != nil {
		return o, false
	}
	defer f.Close()
	return o, json.UnmarshalRead(io.LimitReader(f, 4<<10), &o) == nil && o.PID > 0
}

// announce writes which process has the lock, for the error of the next one.
func (d disk) announce(dir *os.Root, o owner) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return d.replace(dir, lockName, bytes.NewReader(append(data, '\n')), false)
}
