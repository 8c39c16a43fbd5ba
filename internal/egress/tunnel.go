package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A tunnel carries bytes between a client and a server until both have said all, nobody
// says anything for too long, or one of the connections breaks.
type tunnel struct {
	client, server net.Conn
	idle           time.Duration
	begin          time.Time
	active         atomic.Int64 // when bytes flowed last, since begin
}

// Bytes are carried in portions, in the kernel where it can: between them is seen whether
// anything flows. Who takes less than a portion in all the time that is allowed for
// silence is silent.
const (
	portion = 256 << 10
	windows = 10 // of the time that is allowed for silence: so often it is looked
)

// carry returns how many bytes went from the client to the server and back.
func (t *tunnel) carry() (sent, received int64) {
	t.begin = time.Now()
	var both sync.WaitGroup
	both.Go(func() { received = t.pour(t.client, t.server) })
	sent = t.pour(t.server, t.client)
	both.Wait()
	return sent, received
}

func (t *tunnel) pour(to, from net.Conn) (total int64) {
	for {
		now := time.Now()
		patience := now.Add(t.idle)
		_ = from.SetReadDeadline(now.Add(t.idle / windows))
		_ = to.SetWriteDeadline(patience)
		n, err := io.Copy(to, &io.LimitedReader{R: from, N: portion})
		total += n
		if n > 0 {
			t.active.Store(int64(time.Since(t.begin)))
		}
		switch {
		case err == nil && n == portion:
		case err == nil:
			// This side has said all. The other may go on.
			if half, ok := to.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
				return total
			}
			t.close()
			return total
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(patience) && t.silence() < t.idle+t.idle/windows:
			// Only reading ran out of its time, which loses nothing. What flows the other way
			// may be known a window later.
		default:
			t.close()
			return total
		}
	}
}

func (t *tunnel) silence() time.Duration {
	return time.Since(t.begin) - time.Duration(t.active.Load())
}

func (t *tunnel) close() {
	_ = t.client.Close()
	_ = t.server.Close()
}
