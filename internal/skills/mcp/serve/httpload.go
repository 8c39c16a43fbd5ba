package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	wire "github.com/perstack-go/perstack/internal/skills/mcp/frame"
)

// A load is how much the requests under way take.
type load struct {
	mu    sync.Mutex
	count int
	bytes int64
}

// take reports whether there is room for one more.
func (l *load) take(size int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= maxOpen || l.bytes+size > maxOpenBytes {
		return false
	}
	l.count++
	l.bytes += size
	return true
}

// shrink corrects the size of a request.
func (l *load) shrink(from, to int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += to - from
}

func (l *load) give(size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count--
	l.bytes -= size
}

// admit reads the message of a POST. It is checked as strictly as one on a stream before
// the library gets to see it.
func (s *sessions) admit(w http.ResponseWriter, r *http.Request) (done func(), ok bool) {
	size := r.ContentLength
	if size < 0 || size > wire.MaxBytes {
		size = wire.MaxBytes
	}
	if !s.load.take(size) {
		http.Error(w, "too many requests at once; wait for some of their answers", http.StatusServiceUnavailable)
		return nil, false
	}
	// A client that sends slowly must not keep the room of others.
	deadline := http.NewResponseController(w)
	_ = deadline.SetReadDeadline(time.Now().Add(bodyTime))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxBytes))
	_ = deadline.SetReadDeadline(time.Time{})
	var tooLong *http.MaxBytesError
	var bad *frameError
	if err == nil {
		data = bytes.TrimSpace(data)
		_, err = parse(data)
	}
	switch {
	case errors.As(err, &tooLong):
		http.Error(w, fmt.Sprintf("the message is longer than %d bytes; split the work into smaller calls", wire.MaxBytes), http.StatusRequestEntityTooLarge)
	case errors.As(err, &bad):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(bad.answer())
	case err != nil:
		http.Error(w, "the message did not arrive in whole", http.StatusBadRequest)
	default:
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		s.load.shrink(size, int64(len(data)))
		return func() { s.load.give(int64(len(data))) }, true
	}
	s.load.give(size)
	return nil, false
}
