package sandbox

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"
)

// An outlet is our end of a stream that a server writes to. When the server is gone, the
// pipe is emptied and closed: its last words can be read later, and nobody has to.
type outlet struct {
	file *os.File

	mu      sync.Mutex // one reader at a time
	drained bool
	rest    bytes.Reader // what was in the pipe at the end
}

// maxRest is the most that a pipe can be made to hold by somebody without rights.
const maxRest = 1 << 20

func (o *outlet) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.drained {
		n, err := o.file.Read(p)
		if !os.IsTimeout(err) {
			return n, err
		}
		return n, io.EOF // from drain: the end does not come by itself
	}
	return o.rest.Read(p)
}

// Close also ends a Read that waits.
func (o *outlet) Close() error { return o.file.Close() }

// drain is called when all who write are gone. Somebody who got away may hold the pipe
// (macOS); that is not waited for long.
func (o *outlet) drain() {
	_ = o.file.SetReadDeadline(time.Now().Add(drain)) // Windows has none, and nobody gets away
	o.mu.Lock()                                       // a Read that waits has met the end
	defer o.mu.Unlock()
	rest, _ := io.ReadAll(io.LimitReader(o.file, maxRest)) // closed, or what there was
	o.file.Close()
	o.rest.Reset(rest)
	o.drained = true
}
