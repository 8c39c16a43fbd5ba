package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// nearTheEnd is a job that has used 8000 tokens when it is asked for its last answer.
func nearTheEnd(t *testing.T) *bench {
	var turns []turn
	for i := range 8 {
		turns = append(turns, does(fmt.Sprintf(`act {"n":%d}`, i)).costing(900, 100))
	}
	return newBench(t, append(turns, says("done").costing(100, 10), says("done again").costing(100, 10))...)
}

// Of several limits, the one with the greatest share used counts: the Expert's own or the job's.
func TestWarningOfTheTightestLimit(t *testing.T) {
	for name, tt := range map[string]struct{ job, own int64 }{
		"of the Expert": {1_000_000, 10_000},
		"of the job":    {10_000, 1_000_000},
	} {
		b := nearTheEnd(t)
		b.limits.MaxTokens, b.expert.MaxTokens = tt.job, tt.own
		b.must(job.Input{Query: "go"})
		if w := last[event.LimitWarning](b); w.Limit != event.LimitTokens || w.Used != 8000 || w.Max != 10_000 {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// Time has a warning like the other limits. The clock of this job advances only in retry delays.
func TestWarningOfTime(t *testing.T) {
	for name, limit := range map[string]func(*bench, expert.Limits){
		"of the job":    func(b *bench, l expert.Limits) { b.limits = l },
		"of the Expert": func(b *bench, l expert.Limits) { b.expert.Limits = l },
	} {
		slow := &model.Error{Name: "Overloaded", Message: "overloaded", Retryable: true, RetryAfter: 50 * time.Minute / 8}
		turns := []turn{does("read"), says("done")}
		for range 8 {
			turns[0].fail = append(turns[0].fail, slow)
		}
		b := newBench(t, turns...)
		b.maxRetries = 8
		limit(b, expert.Limits{MaxDuration: time.Hour})
		b.must(job.Input{Query: "go"})
		w := last[event.LimitWarning](b)
		if w.Limit != event.LimitDuration || w.Used != 3000 || w.Max != 3600 || !strings.Contains(w.NewMessage.Text(), "3000 of 3600 seconds") {
			t.Errorf("%s: %+v", name, w)
		}
	}
}

// Another Run of the conversation is warned again, because its limits can differ.
func TestWarningOfANewRun(t *testing.T) {
	b := nearTheEnd(t)
	b.limits.MaxTokens = 10_000
	b.must(job.Input{Query: "go"})
	b.must(job.Input{Continue: true, Query: "more"})
	if got := strings.Count(b.trace(), "limitWarning@"); got != 1 {
		t.Errorf("told %d times: %s", got, b.trace())
	}
	b.checkJournal()
	b.checkFold()
}
