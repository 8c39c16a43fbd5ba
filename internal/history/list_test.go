package history

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

func TestList(t *testing.T) {
	start := func(s store.Store, id string, at int64) {
		t.Helper()
		j, err := s.Open(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Append(t.Context(), event.Event{ID: "e", JobID: id, RunID: "r", ExpertKey: "a", StepNumber: 1, Timestamp: at, Body: event.StartRun{CheckpointID: "c"}}); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	one, two := memory.New(), memory.New()
	for i, id := range []string{"job-1", "job-2", "job-3"} {
		start(one, id, int64(10*i))
	}
	start(two, "other", 15)
	from := []Source{{"/one", one}, {"/two", two}}
	for _, test := range []struct {
		offset, take int
		want         string
	}{
		{0, 0, "/one job-3 job-3, /two other othe, /one job-2 job-2, /one job-1 job-1 of 4"},
		{0, 2, "/one job-3 job-3, /two other othe of 4"},
		{1, 2, "/two other othe, /one job-2 job-2 of 4"},
		{3, 2, "/one job-1 job-1 of 4"},
		{9, 2, " of 4"},
	} {
		page, err := List(t.Context(), from, test.offset, test.take)
		var rows []string
		for _, e := range page.Jobs {
			rows = append(rows, strings.Join([]string{e.Source.Project, e.Info.ID, e.Prefix}, " "))
		}
		if got := fmt.Sprintf("%s of %d", strings.Join(rows, ", "), page.Total); err != nil || got != test.want {
			t.Errorf("%d after %d: %s, %v, want %s", test.take, test.offset, got, err, test.want)
		}
	}
}

// What a list shows of an id finds the job again.
func TestShortest(t *testing.T) {
	all := []string{"a", "abcd", "abcdef", "abcdxy", "abczz", "q", "quite-long"}
	for id, want := range map[string]string{"a": "a", "abcd": "abcd", "abcdef": "abcde", "abcdxy": "abcdx", "abczz": "abcz", "q": "q", "quite-long": "quit"} {
		got := shortest(id, all)
		if got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
		if found, err := Match(JobID, got, slices.Values(all)); found != id {
			t.Errorf("%s finds %s, %v", got, found, err)
		}
	}
}

func TestCost(t *testing.T) {
	use := func(input, output int) event.Usage { return event.Usage{InputTokens: input, OutputTokens: output} }
	stated := rawjson.Value(`{"own":{"input":1,"cachedInput":1,"output":10,"long":{"above":200000,"input":2,"cachedInput":2,"output":20}}}`)
	const listed = "claude-sonnet-4-5"
	price, ok := model.PriceOf("anthropic", listed)
	if !ok {
		t.Fatal("the model has no price")
	}
	for name, c := range map[string]struct {
		job   event.Job
		want  float64
		known bool
	}{
		"nothing used": {event.Job{}, 0, true},
		"a stated price": {event.Job{Usage: use(1e6, 1e6), Prices: stated, Models: []event.ModelUse{
			{Model: "own", Usage: use(1e6, 1e6)}, // of many requests, none of which was long
		}}, 11, true},
		"long requests": {event.Job{Usage: use(2e6, 0), Prices: stated, Models: []event.ModelUse{
			{Model: "own", Usage: use(1e6, 0), Long: use(1e6, 0)},
		}}, 3, true},
		"a list price": {event.Job{Usage: use(1000, 100), Models: []event.ModelUse{
			{Provider: "anthropic", Model: listed, Usage: use(1000, 100)},
		}}, model.Cost(expert.Price{Input: price.Input, CachedInput: price.CachedInput, CacheWrite: price.CacheWrite, Output: price.Output}, use(1000, 100)), true},
		"no price":                             {event.Job{Usage: use(5, 0), Models: []event.ModelUse{{Provider: "p", Model: "m", Usage: use(5, 0)}}}, 0, false},
		"a model without a price was not used": {event.Job{Models: []event.ModelUse{{Provider: "p", Model: "m"}}}, 0, true},
		"usage of an unknown model":            {event.Job{Usage: use(5, 0)}, 0, false},
		"prices that are none":                 {event.Job{Prices: rawjson.Value(`[]`)}, 0, false},
	} {
		got, known := Entry{Info: store.JobInfo{Job: c.job}}.Cost()
		if math.Abs(got-c.want) > 1e-9 || known != c.known {
			t.Errorf("%s: %v, %v, want %v, %v", name, got, known, c.want, c.known)
		}
	}
}
