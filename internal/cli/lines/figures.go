package lines

import (
	"fmt"
	"time"

	"github.com/perstack-go/perstack/internal/wording"
)

// spanText writes how long something took: 0.4s, 8.2s, 12s, 1m12s, 2h05m.
func spanText(ms int64) string {
	d := time.Duration(max(ms, 0)) * time.Millisecond
	switch {
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour-time.Second/2:
		return d.Round(time.Second).String()
	}
	d = d.Round(time.Minute)
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

// clockText writes how long something has taken so far: 00:12, 1:02:03.
func clockText(ms int64) string { return wording.Clock(time.Duration(ms) * time.Millisecond) }
