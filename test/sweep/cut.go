package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// A difference is what a kill changes in the course of the Run that it meets: this and
// nothing else. The resumed Run has stopRunByInterrupt and startRun behind the cut.
type difference struct {
	after []event.Type // the newest record of the Run before the cut
	again event.Type   // what was begun last, and is begun again; "" if nothing is
	extra event.Type   // what stands before the Run goes on
	left  []event.Type // what the resumed Run does without
	why   string
}

// differences is the table of all cuts. A failpoint cuts a Run behind its newest record,
// whichever operation it stands at: what was under way then is the same.
var differences = []difference{
	{
		after: []event.Type{"startRun", "continueToNextStep"},
		why:   "between two steps nothing was under way",
	},
	{
		after: []event.Type{"limitWarning"}, again: "limitWarning",
		why: "a limit that ends the Run is met again, and said again; one that it was only told of is not",
	},
	{
		after: []event.Type{"startGeneration"}, again: "startGeneration",
		why: "no answer was recorded: the model is asked again, as if for the first time",
	},
	{
		after: []event.Type{"callTools", "startToolCall", "endToolCall", "resumeToolCalls"}, extra: "resumeToolCalls",
		why: "the calls without a result go on; one with effects that had begun is answered with the unknown outcome",
	},
	{
		after: []event.Type{"resolveToolResults"},
		why:   "all results were there: finishAllToolCalls takes them up, instead of finishToolCall",
	},
	{
		after: []event.Type{"finishToolCall", "finishAllToolCalls", "retry"}, left: []event.Type{"continueToNextStep"},
		why: "the step was over: the Run starts with the next",
	},
	{
		after: []event.Type{"attemptCompletion"}, again: "attemptCompletion", extra: "resumeToolCalls",
		why: "the final answer was not recorded: it is asked for again",
	},
	{
		after: []event.Type{"callInteractiveTool"}, again: "callInteractiveTool", extra: "resumeToolCalls",
		why: "the Run had not stopped yet: it asks again",
	},
	{
		after: []event.Type{"callDelegate"}, again: "callDelegate", extra: "resumeToolCalls",
		why: "the Run had not stopped yet: it names the same children again",
	},
}

// mend takes out of a story what the cuts have put in, according to the table.
func mend(items []item) []item {
	m := &mender{}
	for len(items) > 0 {
		items = m.take(items)
	}
	return inCallOrder(m.out)
}

type mender struct {
	out     []item
	answers []string // of children, that a resumed parent got to know early
}

// take moves the next items to the mended story and returns the rest.
func (m *mender) take(items []item) []item {
	first, rest := items[0], items[1:]
	if isCut(first) && len(rest) > 0 && rest[0].Type == "startRun" && len(m.out) > 0 {
		m.answers = append(m.answers, rest[0].answers...)
		return m.bridge(rest[1:])
	}
	if first.Type == "startRun" {
		first.answers, m.answers = slices.Concat(m.answers, first.answers), nil
	}
	m.out = append(m.out, first)
	m.forgetReturn()
	return rest
}

// isCut reports whether a Run was closed because its process had been killed, or told to
// stop.
func isCut(it item) bool { return it.Type == "stopRunByInterrupt" }

// bridge joins what stands before a cut with what stands behind it.
func (m *mender) bridge(rest []item) []item {
	last := m.lastKind()
	i := slices.IndexFunc(differences, func(d difference) bool { return slices.Contains(d.after, last) })
	if i < 0 {
		m.out = append(m.out, item{Type: "cut after " + last}) // the table knows no such cut
		return rest
	}
	d := differences[i]
	if len(rest) == 0 {
		return nil
	}
	if d.again != "" && (last != "limitWarning" || rest[0].Type == last) {
		m.out = m.out[:m.lastIndex(d.again)]
	}
	switch next := rest[0]; {
	case next.Type == d.extra:
		return rest[1:]
	case next.Type == "finishAllToolCalls" && d.extra == "resumeToolCalls":
		// Every result was there already.
		m.out = append(m.out, made("resolveToolResults", next))
		return append([]item{renamed("finishToolCall", next)}, rest[1:]...)
	case next.Type == "finishAllToolCalls" && last == "resolveToolResults":
		return append([]item{renamed("finishToolCall", next)}, rest[1:]...)
	case !next.raw.IsTerminal():
		for _, t := range d.left {
			m.out = append(m.out, made(t, next))
		}
	}
	return rest
}

// returns are what a Run does that a resumed job starts once more for nothing: a parent,
// only to wait for its children again, and a delegate, only to meet its limit again.
var returns = [][]event.Type{
	{"stopRunByDelegate", "startRun", "resumeToolCalls", "callDelegate", "stopRunByDelegate"},
	{"stopRunByExceededMaxSteps", "startRun", "stopRunByExceededMaxSteps"},
}

// forgetReturn takes out what stands in returns. What a parent was answered early, it was
// answered all the same.
func (m *mender) forgetReturn() {
	for _, again := range returns {
		at := len(m.out) - len(again)
		if at < 0 || !slices.EqualFunc(m.out[at:], again, func(it item, t event.Type) bool { return it.Type == t }) {
			continue
		}
		m.answers = m.out[at+1].answers
		m.out = m.out[:at+1]
	}
}

// lastKind is the type of the newest record; of a transport retry, what was retried.
func (m *mender) lastKind() event.Type {
	last := m.out[len(m.out)-1]
	if b, ok := last.raw.Body.(event.Retry); ok && b.Transport {
		if m.lastIndex("attemptCompletion") > m.lastIndex("startGeneration") {
			return "attemptCompletion"
		}
		return "startGeneration"
	}
	return last.Type
}

func (m *mender) lastIndex(t event.Type) int {
	for i, it := range slices.Backward(m.out) {
		if it.Type == t {
			return i
		}
	}
	return -1
}

// made is a record that a resumed Run does without, as its neighbour's Expert writes it.
func made(t event.Type, neighbour item) item {
	more := ""
	if t == "continueToNextStep" {
		more = `"nextCheckpointId":"ID",`
	}
	return item{Type: t, body: fmt.Sprintf(`{"expertKey":%q,%s"type":%q}`, neighbour.raw.ExpertKey, more, t)}
}

func renamed(t event.Type, it item) item {
	it.body = strings.Replace(it.body, fmt.Sprintf(`"type":%q`, it.Type), fmt.Sprintf(`"type":%q`, t), 1)
	it.Type = t
	return it
}

// inCallOrder sorts the records of calls that ran side by side.
func inCallOrder(items []item) []item {
	of := func(it item) string {
		switch b := it.raw.Body.(type) {
		case event.StartToolCall:
			return "1 " + b.ToolCallID
		case event.EndToolCall:
			return "2 " + b.ToolResult.ID
		}
		return ""
	}
	for first := 0; first < len(items); first++ {
		behind := first
		for behind < len(items) && of(items[behind]) != "" {
			behind++
		}
		slices.SortStableFunc(items[first:behind], func(a, b item) int { return strings.Compare(of(a), of(b)) })
		first = behind
	}
	return items
}
