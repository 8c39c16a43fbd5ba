package tui

import (
	"strconv"
	"time"
)

// Age writes how long ago something was, short enough for a column: 12s, 5m, 3h, 12d.
func Age(d time.Duration) string {
	switch {
	case d < 0: // the clock was set back
		return "0s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}
