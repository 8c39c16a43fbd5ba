package script

import (
	"fmt"
	"slices"
	"strings"
)

// Raw names a body that is no answer.
type Raw string

// The bodies; see the package comment.
const (
	RawGarbage     Raw = "garbage"
	RawHTML        Raw = "html"
	RawEmptyBody   Raw = "emptyBody"
	RawWrongType   Raw = "wrongType"
	RawGzip        Raw = "gzip"
	RawGzipBomb    Raw = "gzipBomb"
	RawEndless     Raw = "endless"
	RawEndlessPing Raw = "endlessPing"
	RawHugeLine    Raw = "hugeLine"
	RawDeep        Raw = "deep"
)

// RawModes are all of them.
func RawModes() []Raw {
	return []Raw{RawGarbage, RawHTML, RawEmptyBody, RawWrongType, RawGzip, RawGzipBomb, RawEndless, RawEndlessPing, RawHugeLine, RawDeep}
}

const (
	maxMiB     = 4096
	maxNesting = 1_000_000
)

// sizes is how many MiB a body has when the script does not say.
var sizes = map[Raw]int{RawGzipBomb: 200, RawEndless: 512, RawEndlessPing: 512, RawHugeLine: 100}

// rawBody reads what belongs to a raw body.
func (t turnTable) rawBody(a *Answer) error {
	a.Raw, a.MiB, a.Depth = t.Raw, t.MiB, t.Depth
	size, sized := sizes[t.Raw]
	switch {
	case t.Raw != "" && !slices.Contains(RawModes(), t.Raw):
		return fmt.Errorf("unknown raw %q; use one of %s", t.Raw, listed(RawModes()))
	case t.MiB < 0 || t.MiB > maxMiB || t.MiB > 0 && !sized:
		return fmt.Errorf("mib is %d; it belongs to gzipBomb, endless, endlessPing and hugeLine and is at most %d", t.MiB, maxMiB)
	case t.Depth < 0 || t.Depth > maxNesting || t.Depth > 0 && t.Raw != RawDeep:
		return fmt.Errorf("depth is %d; it belongs to %s and is at most %d", t.Depth, RawDeep, maxNesting)
	}
	if a.Depth == 0 {
		a.Depth = 100_000
	}
	if a.MiB == 0 {
		a.MiB = size
	}
	return nil
}

func listed(modes []Raw) string {
	var all []string
	for _, m := range modes {
		all = append(all, string(m))
	}
	return strings.Join(all, ", ")
}
