package responses

import (
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm/script"
)

// checkPairs: each call has one result, which stands after it.
func (r *request) checkPairs() *script.Problem {
	open := map[string]int{}
	var order []string
	for _, it := range r.Input {
		switch it.Type {
		case "function_call":
			open[it.CallID]++
			order = append(order, it.CallID)
		case "function_call_output":
			if open[it.CallID] == 0 {
				return invalid("No tool call found for function call output with call_id %s.", it.CallID)
			}
			open[it.CallID]--
		}
	}
	for _, id := range order {
		if open[id] > 0 {
			return invalid("No tool output found for function call %s.", id)
		}
	}
	return nil
}

// checkThoughts: a thought stands before the item that it led to, and that item is not
// without it.
func (r *request) checkThoughts() *script.Problem {
	for i := range r.Input {
		it := &r.Input[i]
		if it.Type == "reasoning" && !r.ledSomewhere(i) {
			return invalid("Item '%s' of type 'reasoning' was provided without its required following item.", it.ID)
		}
		if answer, thought := answerOf(it.ID); thought && !r.thoughtBefore(i, answer) {
			return invalid("Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", it.ID, it.Type, strings.Replace(answer, "_", "rs_", 1))
		}
	}
	return nil
}

func (r *request) ledSomewhere(i int) bool {
	for _, next := range r.Input[i+1:] {
		switch {
		case next.Type == "reasoning":
			continue
		case !next.isAnswer():
			return false
		case isRun(next.Type) || next.ID == "":
			return true
		}
		mine, _ := answerOf(r.Input[i].ID)
		its, _ := answerOf(next.ID)
		return mine == its
	}
	return false
}

func (r *request) thoughtBefore(i int, answer string) bool {
	if i == 0 || r.Input[i-1].Type != "reasoning" {
		return false
	}
	before, _ := answerOf(r.Input[i-1].ID)
	return before == answer
}

// answerOf takes an id apart: of which answer the item is, and whether a thought stood
// before it. See itemID.
func answerOf(id string) (answer string, thought bool) {
	_, rest, _ := strings.Cut(id, "_")
	answer, place, ok := strings.Cut(rest, "_")
	if !ok {
		return "", false
	}
	return answer, strings.HasSuffix(place, "t")
}
