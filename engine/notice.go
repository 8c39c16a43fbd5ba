package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/perstack-go/perstack/event"
)

const (
	// most is the share of a limit from which on it is said that most is used.
	most = 0.8
	// rounding is what sums of money may lose.
	rounding = 1e-9
)

// notice says, once a Run and limit, that most of a limit is used; of what a job may use
// also to the model, in its next request: it can still finish what matters.
func (r *run) notice() (event.LimitWarning, bool) {
	s := r.state
	for _, u := range append(r.ledger.used(r.purse, r.Source.Now()), usedUp{
		limit: event.LimitContext,
		used:  float64(s.LastUsage.InputTokens + s.LastUsage.OutputTokens),
		most:  float64(s.ContextWindow),
	}) {
		if u.most <= 0 || u.used < most*u.most*(1-rounding) || u.words() != "" && u.used >= u.most || slices.Contains(s.Warned, u.limit) {
			continue
		}
		warning := event.LimitWarning{Limit: u.limit, Used: u.used, Max: u.most}
		if words := u.words(); words != "" {
			warning.NewMessage = r.userMessage(words)
		}
		return warning, true
	}
	return event.LimitWarning{}, false
}

// usedUp is how much of a limit is used.
type usedUp struct {
	limit      string
	used, most float64
}

// used lists what is limited, with the purse in which the greatest share is used.
func (l *ledger) used(p *purse, now time.Time) []usedUp {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := []usedUp{{limit: event.LimitSteps}, {limit: event.LimitTokens}, {limit: event.LimitCost}, {limit: event.LimitDuration}}
	for q := p; q != nil; q = q.within {
		for i, u := range []usedUp{
			{"", float64(q.steps), float64(q.limits.MaxSteps)},
			{"", float64(q.tokens), float64(q.limits.MaxTokens)},
			{"", q.cost, q.limits.MaxCost},
			{"", now.Sub(q.since).Seconds(), q.limits.MaxDuration.Seconds()},
		} {
			if u.most > 0 && (all[i].most == 0 || u.used/u.most > all[i].used/all[i].most) {
				all[i].used, all[i].most = u.used, u.most
			}
		}
	}
	return all
}

// words tells the model.
func (u usedUp) words() string {
	var what string
	switch u.limit {
	case event.LimitSteps:
		what = fmt.Sprintf("%.0f of %.0f steps", u.used, u.most)
	case event.LimitTokens:
		what = fmt.Sprintf("%.0f of %.0f tokens", u.used, u.most)
	case event.LimitCost:
		what = fmt.Sprintf("%.4f of %.4f US dollars", u.used, u.most)
	case event.LimitDuration:
		what = fmt.Sprintf("%.0f of %.0f seconds", u.used, u.most)
	default:
		return ""
	}
	return "Note from the runtime: " + what + " of this task are used, and it is stopped when they are used up, so finish what matters most and give your answer soon."
}
