package chat

import (
	"maps"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

// contentFilter is the name of the error that a filter makes: not the model has refused,
// and no other attempt will help. The engine gives answers that were filtered the same.
const contentFilter = "ContentFilter"

// filtered is what the content filter of Azure says.
type filtered struct {
	Code   string `json:"code"`
	Result map[string]struct {
		Filtered bool   `json:"filtered"`
		Severity string `json:"severity"`
	} `json:"content_filter_result"`
}

// explain returns a failure in the words of the service. What a filter found is said too: the
// message does not.
func (t *turn) explain(e wire.OpenAIError) wire.Problem {
	var inner filtered
	if e.Inner != nil {
		_ = wire.Decode(e.Inner, &inner) // what is odd stays out
	}
	p := e.Problem()
	if found := inner.found(); found != "" {
		p.Message += " (" + found + ")"
	}
	t.filtered = e.Code == "content_filter" || inner.Code == "ResponsibleAIPolicyViolation"
	p.Final = p.Final || t.filtered
	return p
}

// found lists what a content filter objects to.
func (f *filtered) found() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f.Result)) {
		if r := f.Result[name]; r.Filtered {
			all = append(all, strings.TrimSuffix(name+": "+r.Severity, ": "))
		}
	}
	return strings.Join(all[:min(len(all), 10)], ", ")
}
