package registry

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/httpapi"
	"github.com/perstack-go/perstack/internal/wording"
)

// limitsByName are the limits that the flag --limit can change.
var limitsByName = map[string]func(*limitSet) *int{
	"reads-per-minute":     func(l *limitSet) *int { return &l.ReadsPerMinute },
	"reads-per-hour":       func(l *limitSet) *int { return &l.ReadsPerHour },
	"key-reads-per-minute": func(l *limitSet) *int { return &l.KeyReadsPerMinute },
	"publishes-per-hour":   func(l *limitSet) *int { return &l.PublishesPerHour },
	"publishes-per-day":    func(l *limitSet) *int { return &l.PublishesPerDay },
	"reports-per-hour":     func(l *limitSet) *int { return &l.ReportsPerHour },
	"new-names-per-day":    func(l *limitSet) *int { return &l.newNamesPerDay },
	"failures-per-minute":  func(l *limitSet) *int { return &l.FailuresPerMinute },
}

func limitNames() []string { return slices.Sorted(maps.Keys(limitsByName)) }

// A limitSet is all limits of a registry.
type limitSet struct {
	httpapi.Limits
	newNamesPerDay int
}

const defaultNewNames = 10

// parseLimits reads the values of --limit.
func parseLimits(texts []string) (limitSet, error) {
	limits := limitSet{httpapi.DefaultLimits(), defaultNewNames}
	for _, text := range texts {
		name, number, _ := strings.Cut(text, "=")
		field, ok := limitsByName[name]
		if !ok {
			return limits, host.Usagef("there is no limit %q; %s", name, wording.DidYouMean(name, limitNames()))
		}
		n, err := strconv.Atoi(number)
		const most = 1_000_000_000
		if err != nil || n < 0 || n > most {
			return limits, host.Usagef("--limit %s needs a number, like %s=100; 0 is no limit", name, name)
		}
		*field(&limits) = n
	}
	return limits, nil
}
