package egress

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRateLimiter()
		begin := time.Now()
		for range burst {
			_ = p.Wait(t.Context())
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("the first %d wait %v", burst, took)
		}
		for range 10 * perSecond {
			_ = p.Wait(t.Context())
		}
		if took := time.Since(begin).Round(time.Second); took != 10*time.Second {
			t.Errorf("%d more take %v, want 10s", 10*perSecond, took)
		}
		time.Sleep(time.Hour)
		begin = time.Now()
		for range burst {
			_ = p.Wait(t.Context())
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("after an hour the first %d wait %v", burst, took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 100 {
			_ = p.Wait(ctx)
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("who is stopped waits %v", took)
		}
	})
}
