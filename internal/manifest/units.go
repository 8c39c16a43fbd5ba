package manifest

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/wording"
)

// The units of sizes, the largest first. Those of Docker (2g, 512m) are not among them:
// their letters mean powers of two there and powers of ten elsewhere.
var byteUnits = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1},
}

// A size is a whole number and a unit, without a blank. The schema states the same.
const bytesPattern = `^([0-9]{1,18})(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$`

var bytesGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(bytesPattern) })

// ParseBytes reads a size such as 512MiB, 2GiB or 1GB. It may be 0, and always fits an
// int64. A number without a unit is not one: it could be bytes or megabytes.
func ParseBytes(s string) (int64, error) {
	m := bytesGrammar().FindStringSubmatch(s)
	if m == nil {
		return 0, errors.New(wording.Quote(s) + ` is not a size; write a whole number with its unit, like "512MiB", "2GiB" or "1GB"`)
	}
	n, _ := strconv.ParseInt(m[1], 10, 64) // 18 digits always fit
	for _, unit := range byteUnits {
		if unit.name == m[2] && n <= math.MaxInt64/unit.bytes {
			return n * unit.bytes, nil
		}
	}
	return 0, errors.New(wording.Quote(s) + " is too large; nothing has so many bytes")
}

// FormatBytes writes a size as ParseBytes reads it, in the largest power of two that loses
// nothing.
func FormatBytes(n int64) string {
	for _, unit := range byteUnits[:4] {
		if n > 0 && n%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}

// A duration has at most this many characters, which is more than any sensible one has.
const maxDurationText = 32

// The grammar is a part of Go's, without signs and without units that no limit needs, so
// that the schema can state it too.
const durationPattern = `^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`

var durationGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(durationPattern) })

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

// FormatDuration writes 10m for what Go calls 10m0s.
func FormatDuration(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if rest, ok := strings.CutSuffix(text, zero); ok {
			text = rest + zero[:1]
		}
	}
	return text
}
