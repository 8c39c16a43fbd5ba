package manifest

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"sync"

	"github.com/perstack-go/perstack/internal/wording"
)

// The units of sizes, each with its bytes. Those of Docker (2g, 512m) are not among them:
// their letters mean powers of two there and powers of ten elsewhere.
var byteUnits = []struct {
	name  string
	bytes int64
}{
	{"B", 1},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
}

// A size is a whole number and a unit, without a blank. The schema states the same.
const bytesPattern = `^([0-9]{1,18})(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$`

var bytesGrammar = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(bytesPattern) })

// ParseBytes reads a size such as 512MiB, 2GiB or 1GB. It may be 0, and always fits an
// int64. A number without a unit is not one: it could be bytes or megabytes.
func ParseBytes(s string) (int64, error) {
	const hint = `; write a whole number with its unit, like "512MiB", "2GiB" or "1GB"`
	m := bytesGrammar().FindStringSubmatch(s)
	if m == nil {
		return 0, errors.New(wording.Quote(s) + " is not a size" + hint)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, errors.New(wording.Quote(s) + " is not a size" + hint)
	}
	for _, unit := range byteUnits {
		if unit.name == m[2] {
			if n > math.MaxInt64/unit.bytes {
				return 0, errors.New(wording.Quote(s) + " is too large; nothing has so many bytes")
			}
			return n * unit.bytes, nil
		}
	}
	return 0, errors.New(wording.Quote(s) + " is not a size" + hint)
}

// FormatBytes writes a size as ParseBytes reads it, in the largest unit that loses
// nothing.
func FormatBytes(n int64) string {
	for _, unit := range []struct {
		name  string
		bytes int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n > 0 && n%unit.bytes == 0 {
			return fmt.Sprintf("%d%s", n/unit.bytes, unit.name)
		}
	}
	return fmt.Sprintf("%dB", n)
}
