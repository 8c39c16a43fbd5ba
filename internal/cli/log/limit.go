package log

import (
	"fmt"
	"strconv"
	"time"

	"github.com/perstack-go/perstack/event"
)

// limitWords says how much of a limit is used, in its own measure.
func limitWords(b event.LimitWarning) string {
	words := fmt.Sprintf("%s, %s of %s used", b.Limit, figure(b.Used), figure(b.Max))
	switch b.Limit {
	case event.LimitCost:
		words = fmt.Sprintf("cost, $%.4f of $%.4f used", b.Used, b.Max)
	case event.LimitDuration:
		words = fmt.Sprintf("duration, %s of %s used", seconds(b.Used), seconds(b.Max))
	case event.LimitLoop:
		if b.Max < 2 { // of the same question on one path
			return "loop, an Expert above it was asked the very same"
		}
		words = "loop, the same " + figure(b.Used) + " times in a row"
	case event.LimitDepth:
		words = fmt.Sprintf("depth, %s Experts on one path of delegation, and %s are allowed", figure(b.Used), figure(b.Max))
	}
	if b.NewMessage != nil {
		words += "; the model is told"
	}
	return words
}

// figure writes a number without an exponent: bytes run into the millions.
func figure(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// seconds writes a time in tenths, if it is short, and without digits that nobody reads.
func seconds(n float64) string {
	if n < 10 {
		return fmt.Sprintf("%.1fs", n)
	}
	return time.Duration(n * float64(time.Second)).Round(time.Second).String()
}
