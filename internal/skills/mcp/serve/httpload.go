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

// inFlight counts the requests that are being handled, and their bytes.
type inFlight struct {
	mu    sync.Mutex
	count int
	bytes int64
}

// begin adds a request, and reports whether the limits allow it.
func (l *inFlight) begin(size int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count >= maxOpen || l.bytes+size > maxOpenBytes {
		return false
	}
	l.count++
	l.bytes += size
	return true
}

// resize corrects the size of a request.
func (l *inFlight) resize(from, to int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += to - from
}

func (l *inFlight) end(size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count--
	l.bytes -= size
}

// admit reads the message of a POST, and checks it as strictly as one on a stream before the
// library reads it.
func (s *sessions) admit(w http.ResponseWriter, r *http.Request) (done func(), ok bool) {
	size := r.ContentLength
	if size < 0 || size > wire.MaxBytes {
		size = wire.MaxBytes
	}
	if !s.inFlight.begin(size) {
		http.Error(w, "too many requests at once; wait for some of their answers", http.StatusServiceUnavailable)
		return nil, false
	}
	// A client that sends slowly must not use up the limit for others.
	deadline := http.NewResponseController(w)
	_ = deadline.SetReadDeadline(time.Now().Add(bodyTime))
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxBytes))
	_ = deadline.SetReadDeadline(time.Time{})
	var tooLong *http.MaxBytesError
	var bad *wire.Error
	if err == nil {
		data = bytes.TrimSpace(data)
		_, err = wire.Parse(data)
	}
	switch {
	case errors.As(err, &tooLong):
		http.Error(w, fmt.Sprintf("the message is longer than %d bytes; split the work into smaller calls", wire.MaxBytes), http.StatusRequestEntityTooLarge)
	case errors.As(err, &bad):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(refusal(bad))
	case err != nil:
		http.Error(w, "the message did not arrive in whole", http.StatusBadRequest)
	default:
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		s.inFlight.resize(size, int64(len(data)))
		return func() { s.inFlight.end(int64(len(data))) }, true
	}
	s.inFlight.end(size)
	return nil, false
}
