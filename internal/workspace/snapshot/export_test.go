package snapshot

import "time"

// SetClock sets the clock by which a Taker decides what changed a moment ago.
func SetClock(o *Options, clock func() time.Time) { o.clock = clock }
