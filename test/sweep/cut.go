package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// A difference is what a kill changes in the records of the Run that it stops: this and
// nothing else. The resumed Run has stopRunByInterrupt and startRun after the cut.
type difference struct {
	after []event.Type // the newest record of the Run before the cut
	again event.Type   // what was begun last, and is begun again; "" if nothing is
	extra event.Type   // the record before the Run continues
	left  []event.Type // what the resumed Run does without
	why   string
}

// differences is the table of all cuts. A failpoint cuts a Run after its newest record,
// whichever operation it is at: what was under way then is the same.
var differences = []difference{
	{
		after: []event.Type{"startRun", "continueToNextStep"},
		why:   "between two steps nothing was under way",
	},
	{
		after: []event.Type{"limitWarning"}, again: "limitWarning",
		why: "a limit that ends the Run is met again, and said again; a warning is not",
	},
	{
		after: []event.Type{"startGeneration"}, again: "startGeneration",
		why: "no answer was recorded: the model is asked again, as if for the first time",
	},
	{
		after: []event.Type{"callTools", "startToolCall", "endToolCall", "planAccepted", "resumeToolCalls"}, extra: "resumeToolCalls",
		why: "the calls without a result continue; one with effects that had begun is answered with the unknown outcome",
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

// withoutCuts removes the records that cuts have added, according to the table.
func withoutCuts(items []item) []item {
	j := &joiner{}
	items = slices.DeleteFunc(slices.Clone(items), func(it item) bool { return it.Type == "approvalRequested" || it.Type == "approvalAnswered" })
	for len(items) > 0 {
		items = j.take(items)
	}
	return inCallOrder(j.out)
}

type joiner struct {
	out     []item
	answers []string // of children, which a resumed parent got early
}

// take moves the next items to the joined records and returns the rest.
func (j *joiner) take(items []item) []item {
	first, rest := items[0], items[1:]
	if isCut(first) && len(rest) > 0 && rest[0].Type == "startRun" && len(j.out) > 0 {
		j.answers = append(j.answers, rest[0].answers...)
		return j.bridge(rest[1:])
	}
	if first.Type == "startRun" {
		first.answers, j.answers = slices.Concat(j.answers, first.answers), nil
	}
	j.out = append(j.out, first)
	j.removeReturn()
	return rest
}

// isCut reports whether a Run was closed because its process had been killed, or told to
// stop, or because it had to wait.
func isCut(it item) bool { return it.Type == "stopRunByInterrupt" || it.Type == "stopRunByApproval" }

// bridge joins the records before a cut and those after it.
func (j *joiner) bridge(rest []item) []item {
	last := j.lastKind()
	i := slices.IndexFunc(differences, func(d difference) bool { return slices.Contains(d.after, last) })
	if i < 0 {
		j.out = append(j.out, item{Type: "cut after " + last}) // the table knows no such cut
		return rest
	}
	d := differences[i]
	if len(rest) == 0 {
		return nil
	}
	if d.again != "" && (last != "limitWarning" || rest[0].Type == last) {
		j.out = j.out[:j.lastIndex(d.again)]
	}
	switch next := rest[0]; {
	case next.Type == d.extra:
		return rest[1:]
	case next.Type == "finishAllToolCalls" && d.extra == "resumeToolCalls":
		// Every result was there already.
		j.out = append(j.out, missing("resolveToolResults", next))
		return append([]item{renamed("finishToolCall", next)}, rest[1:]...)
	case next.Type == "finishAllToolCalls" && last == "resolveToolResults":
		return append([]item{renamed("finishToolCall", next)}, rest[1:]...)
	case !next.raw.IsTerminal():
		for _, t := range d.left {
			j.out = append(j.out, missing(t, next))
		}
	}
	return rest
}

// returns are the records of a Run that a resumed job starts again without effect: a parent,
// only to wait for its children again, and a delegate, only to reach its limit again.
var returns = [][]event.Type{
	{"stopRunByDelegate", "startRun", "resumeToolCalls", "callDelegate", "stopRunByDelegate"},
	{"stopRunByExceededMaxSteps", "startRun", "stopRunByExceededMaxSteps"},
}

// removeReturn removes what is in returns. The answers that a parent got early
// are kept.
func (j *joiner) removeReturn() {
	for _, again := range returns {
		at := len(j.out) - len(again)
		if at < 0 || !slices.EqualFunc(j.out[at:], again, func(it item, t event.Type) bool { return it.Type == t }) {
			continue
		}
		j.answers = j.out[at+1].answers
		j.out = j.out[:at+1]
	}
}

// lastKind is the type of the newest record; of a transport retry, what was retried.
func (j *joiner) lastKind() event.Type {
	last := j.out[len(j.out)-1]
	if b, ok := last.raw.Body.(event.Retry); ok && b.Transport {
		if j.lastIndex("attemptCompletion") > j.lastIndex("startGeneration") {
			return "attemptCompletion"
		}
		return "startGeneration"
	}
	return last.Type
}

func (j *joiner) lastIndex(t event.Type) int {
	for i, it := range slices.Backward(j.out) {
		if it.Type == t {
			return i
		}
	}
	return -1
}

// missing is a record that a resumed Run does not write, made with the Expert of the next one.
func missing(t event.Type, next item) item {
	more := ""
	if t == "continueToNextStep" {
		more = `"nextCheckpointId":"ID",`
	}
	return item{Type: t, body: fmt.Sprintf(`{"expertKey":%q,%s"type":%q}`, next.raw.ExpertKey, more, t)}
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
