package messages

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// checkCache counts the marks of the cache, wherever they stand.
func (r *Request) checkCache() *script.Problem {
	marks := []jsontext.Value{r.Cache}
	for _, t := range r.Tools {
		marks = append(marks, t.Cache)
	}
	var walk func(Blocks)
	walk = func(blocks Blocks) {
		for _, b := range blocks {
			marks = append(marks, b.Cache)
			if b.Type == "tool_result" {
				inside, _ := b.Result() // was read before
				walk(inside)
			}
		}
	}
	walk(r.System)
	for _, m := range r.Messages {
		walk(m.Content)
	}
	marks = slices.DeleteFunc(marks, func(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == jsontext.KindNull })
	for _, mark := range marks {
		var m struct {
			Type string `json:"type"`
			TTL  string `json:"ttl"`
		}
		if json.Unmarshal(mark, &m) != nil || m.Type != "ephemeral" || !slices.Contains([]string{"", "5m", "1h"}, m.TTL) {
			return invalid("cache_control: Input should be {\"type\":\"ephemeral\"}, got %s", script.Short(string(mark)))
		}
	}
	if len(marks) > 4 {
		return invalid("A maximum of 4 blocks with cache_control may be provided. Found %d.", len(marks))
	}
	return nil
}
