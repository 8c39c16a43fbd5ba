package egress

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A tunnel carries bytes between a client and a server until both have finished, nothing
// flows for too long, one of the connections breaks, or the client sends a hello that names
// another host (see [tunnel.checkHellos]).
type tunnel struct {
	client, server net.Conn
	host           string
	rest           *bytes.Reader // what the client sent behind its first hello, before the tunnel
	idle           time.Duration
	begin          time.Time
	active         atomic.Int64 // when bytes flowed last, since begin
	answered       atomic.Bool  // the server has answered a hello, and reads no other
}

// Bytes are copied in chunks, by the kernel where possible, and the time of the last one
// is noted. A connection that takes less than a chunk during the whole idle time counts as
// idle.
const (
	chunkSize = 256 << 10
	windows   = 10 // how often the idle time is checked
)

// carry returns how many bytes went from the client to the server and back, and why a later
// hello was refused.
func (t *tunnel) carry() (sent, received int64, refused error) {
	t.begin = time.Now()
	var both sync.WaitGroup
	both.Go(func() {
		received = t.awaitAnswer()
		received += t.copyBytes(t.client, t.server)
	})
	sent, refused = t.checkHellos()
	if refused != nil {
		t.close()
	} else {
		sent += t.copyBytes(t.server, t.client)
	}
	both.Wait()
	return sent, received, refused
}

func (t *tunnel) copyBytes(to, from net.Conn) (total int64) {
	for {
		now := time.Now()
		patience := now.Add(t.idle)
		_ = from.SetReadDeadline(now.Add(t.idle / windows))
		_ = to.SetWriteDeadline(patience)
		n, err := io.Copy(to, &io.LimitedReader{R: from, N: chunkSize})
		total += n
		if n > 0 {
			t.active.Store(int64(time.Since(t.begin)))
		}
		switch {
		case err == nil && n == chunkSize:
		case err == nil:
			// This side has finished. The other may continue.
			if half, ok := to.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
				return total
			}
			t.close()
			return total
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(patience) && !t.isSilent():
			// Only the read timed out, which loses nothing.
		default:
			t.close()
			return total
		}
	}
}

// isSilent reports that nothing has flowed for too long, in either direction. Bytes are noted
// up to a window late.
func (t *tunnel) isSilent() bool {
	return time.Since(t.begin)-time.Duration(t.active.Load()) >= t.idle+t.idle/windows
}

func (t *tunnel) close() {
	_ = t.client.Close()
	_ = t.server.Close()
}
