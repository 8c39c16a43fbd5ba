package stopwatch

import (
	"testing"
	"testing/synctest"
	"time"
)

// A limit of ten seconds, and when it ends.
func TestTimer(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*Clock, *Timer)
		want time.Duration // 0 for never
	}{
		"no pause": {func(*Clock, *Timer) {}, 10 * time.Second},
		"a pause": {func(c *Clock, _ *Timer) {
			time.Sleep(4 * time.Second)
			resume := c.Pause()
			time.Sleep(time.Minute)
			resume()
			resume() // counts once
		}, 70 * time.Second},
		"two pauses that overlap": {func(c *Clock, _ *Timer) {
			first := c.Pause()
			time.Sleep(time.Minute)
			second := c.Pause()
			first()
			time.Sleep(time.Minute)
			second()
		}, 130 * time.Second},
		"more time": {func(_ *Clock, t *Timer) {
			time.Sleep(9 * time.Second)
			t.Reset(10 * time.Second)
		}, 19 * time.Second},
		"more time in a pause": {func(c *Clock, t *Timer) {
			time.Sleep(9 * time.Second)
			resume := c.Pause()
			time.Sleep(time.Minute)
			t.Reset(20 * time.Second)
			resume()
		}, 89 * time.Second},
		"stopped in a pause": {func(c *Clock, t *Timer) {
			resume := c.Pause()
			t.Stop()
			t.Reset(time.Second)
			resume()
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock, began := &Clock{}, time.Now()
				var ended time.Duration
				timer := clock.AfterFunc(10*time.Second, func() { ended = time.Since(began) })
				c.do(clock, timer)
				time.Sleep(time.Hour)
				synctest.Wait()
				if ended != c.want {
					t.Errorf("it ended after %v, want %v", ended, c.want)
				}
			})
		})
	}
}

// A limit that is set in a pause begins after it. Without a clock, there are no pauses.
func TestTimerBeginsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var ended, plain time.Duration
		clock := &Clock{}
		resume := clock.Pause()
		clock.AfterFunc(time.Second, func() { ended = time.Since(began) })
		(*Clock)(nil).AfterFunc(time.Second, func() { plain = time.Since(began) }).Reset(2 * time.Second)
		time.Sleep(time.Minute)
		resume()
		time.Sleep(time.Minute)
		synctest.Wait()
		if ended != 61*time.Second || plain != 2*time.Second {
			t.Errorf("they ended after %v and %v", ended, plain)
		}
	})
}
