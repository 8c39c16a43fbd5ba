package base

import (
	"math"
	"testing"
	"time"
)

// What the call asks for is what it gets: none, a day, or as long as can be counted.
func TestExecTimeLimit(t *testing.T) {
	for ms, want := range map[int64]time.Duration{
		0: 0, 1: time.Millisecond, defaultTimeout: time.Minute, 86_400_000: 24 * time.Hour,
	} {
		if got := timeLimit(ms); got != want {
			t.Errorf("timeLimit(%d) = %s, want %s", ms, got, want)
		}
	}
	if got := timeLimit(math.MaxInt64); got < 290*365*24*time.Hour {
		t.Errorf("the longest time is %s", got)
	}
}
