package httpapi

import (
	"net/http"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// The bounds of the memory that answers take, whatever number of clients asks.
const (
	// defaultHeavy is how many answers of heavy routes are made at once. SQLite has as many readers.
	defaultHeavy = 8
	// largeAnswer is the size from which an answer counts while its client reads it. What is smaller fits into
	// the buffers of a connection.
	largeAnswer = 256 << 10
	// maxUnread is how many bytes of large answers can wait for their clients.
	maxUnread = 256 << 20
)

// A budget is what many requests share.
type budget struct {
	mu   sync.Mutex
	left int64
}

// take takes a part of the budget, if there is as much.
func (b *budget) take(n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.left {
		return false
	}
	b.left -= n
	return true
}

func (b *budget) giveBack(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
}

// enter waits until the answer of a heavy route can be made.
func (c *call) enter() error {
	select {
	case c.h.slots <- struct{}{}:
		c.w.begin = c.begin
		c.hasSlot = true
		return nil
	case <-c.ctx().Done():
		c.w.Header().Set("Retry-After", busyRetry)
		return errBusy()
	}
}

// busyRetry is when to ask a busy registry again, in seconds.
const busyRetry = "10"

func errBusy() *server.Error {
	return &server.Error{Status: http.StatusServiceUnavailable, Reason: "The registry has too much to do; try again later"}
}

// begin is called when an answer is made, and is to be sent. Another one can be made then: a client that reads
// slowly does not keep others waiting. A large answer needs a part of the budget for that.
func (c *call) begin(length int64) bool {
	if length > largeAnswer {
		if !c.h.unread.take(length) {
			return false
		}
		c.unread = length
	}
	c.freeSlot()
	return true
}

func (c *call) freeSlot() {
	if c.hasSlot {
		<-c.h.slots
		c.hasSlot = false
	}
}

// leave ends what enter began.
func (c *call) leave() {
	c.freeSlot()
	c.h.unread.giveBack(c.unread)
	c.unread = 0
}

// refuse answers that the registry is busy, in place of an answer that was made. What is written afterwards
// is dropped.
func (w *recorder) refuse() {
	header := w.Header()
	answer := errBusy()
	data, err := json.Marshal(api.Error{Code: answer.Status, Message: errorWord(answer.Status), Reason: answer.Reason, RequestID: header.Get(api.RequestIDHeader)})
	if err != nil {
		data = []byte("{}")
	}
	header.Del("ETag")
	header.Set("Cache-Control", private)
	header.Set("Content-Type", "application/json")
	header.Set("Content-Length", strconv.Itoa(len(data)))
	header.Set("Retry-After", busyRetry)
	w.status = answer.Status
	w.ResponseWriter.WriteHeader(answer.Status)
	_, _ = w.ResponseWriter.Write(data) // the client has left
	w.refused = true
}
