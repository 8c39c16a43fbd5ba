package lines

import (
	"fmt"
	"strconv"
	"strings"
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

// costText writes what was spent: $0.021, $1.25.
func costText(dollars float64) string {
	if dollars < 1 {
		return fmt.Sprintf("$%.3f", dollars)
	}
	return fmt.Sprintf("$%.2f", dollars)
}

// limitText writes what can be spent, as exactly as the user did: $0.50, $0.005.
func limitText(dollars float64) string {
	text := strconv.FormatFloat(dollars, 'f', -1, 64)
	if whole, part, _ := strings.Cut(text, "."); len(part) < 2 {
		text = fmt.Sprintf("%s.%-2s", whole, part)
	}
	return "$" + strings.ReplaceAll(text, " ", "0")
}
