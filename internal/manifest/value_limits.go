package manifest

import (
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/wording"
)

// A duration has at most this many characters, which is more than any sensible one has.
const maxDurationText = 32

// The grammar is a part of Go's, without signs and without units that no limit needs, so
// that the schema can state it too.
var durationGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`) })

// ParseDuration reads a limit on time such as 90s, 30m, 2h or 1h30m. It is more than 0 and
// at most MostDuration.
func ParseDuration(s string) (time.Duration, error) {
	const hint = `; write numbers with units, like "90s", "30m" or "2h"`
	if len(s) > maxDurationText || !durationGrammar().MatchString(s) {
		return 0, errors.New(wording.Quote(s) + " is not a duration" + hint)
	}
	d, err := time.ParseDuration(s) // fails only for what does not fit
	switch {
	case err != nil, d > expert.MostDuration:
		return 0, fmt.Errorf("must be at most %.0fh; %s", expert.MostDuration.Hours(), noLimit)
	case d <= 0:
		return 0, errors.New("must be more than 0; " + noLimit)
	}
	return d, nil
}
