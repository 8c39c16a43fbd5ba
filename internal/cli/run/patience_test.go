package run

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// A blockedWriter is a terminal that is stopped with Ctrl-S.
type blockedWriter struct{ released chan struct{} }

func (w blockedWriter) Write(data []byte) (int, error) {
	<-w.released
	return len(data), nil
}

// A run that was told to stop does not wait for a reader who has stopped reading.
func TestPatientWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		w := blockedWriter{make(chan struct{})}
		p := &patientWriter{ctx: ctx, w: w}
		failed := make(chan error, 1)
		go func() {
			_, err := p.Write([]byte("x"))
			failed <- err
		}()
		synctest.Wait()
		if len(failed) > 0 {
			t.Error("a run that continues does not wait for its reader")
		}
		stop()
		if err := <-failed; !errors.Is(err, errUnread) {
			t.Errorf("%v", err)
		}
		close(w.released)
		if _, err := p.Write([]byte("x")); !errors.Is(err, errUnread) {
			t.Errorf("the next one: %v", err)
		}
		var out bytes.Buffer
		if n, err := (&patientWriter{ctx: ctx, w: &out}).Write([]byte("x")); n != 1 || err != nil || out.String() != "x" {
			t.Errorf("a reader who reads: %d, %v, %q", n, err, out.String())
		}
	})
}
