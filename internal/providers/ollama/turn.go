package ollama

import (
	"errors"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

type turn struct {
	client *wire.Client
	draft  wire.Draft
	counts counts
	calls  int
	reason string

	word    string // that came last
	repeats int    // how often it came in a row
}

type line struct {
	Message struct {
		Thinking  string `json:"thinking"`
		Content   string `json:"content"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string        `json:"name"`
				Arguments rawjson.Value `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"message"`
	Done   bool          `json:"done"`
	Reason string        `json:"done_reason"`
	Error  rawjson.Value `json:"error"`
	*counts
}

// counts is what was used. The last line has it.
type counts struct {
	Prompt wire.Count `json:"prompt_eval_count"` // what came from the cache included
	Cached wire.Count `json:"prompt_eval_cached_count"`
	Eval   wire.Count `json:"eval_count"` // thoughts included, uncounted
}

// Read takes the lines of a stream up to the last and tells what there is to tell.
func (t *turn) Read(stream *wire.Stream, tell wire.Tell) error {
	err := wire.Collect(t.client, &t.draft, stream.Line, func(text []byte) (last bool, err error) {
		if len(text) == 0 {
			return false, nil
		}
		return t.take(text, tell)
	})
	var broken *model.Error
	if errors.As(err, &broken) && broken.Name == "IncompleteAnswer" && t.repeats >= maxRepeats {
		return &model.Error{
			Name:    "RepeatedAnswer",
			Message: t.client.Provider + ": the server stopped the model, which repeated itself; use another model, or set repeat_penalty in the options of extraBody",
		}
	}
	return err
}

// maxRepeats is how often a word can come in a row before the server ends the answer without
// a last line.
const maxRepeats = 30

// take adds a line to the turn. What it holds is told in the order in which models write.
func (t *turn) take(text []byte, tell wire.Tell) (done bool, err error) {
	l := line{counts: &t.counts}
	if err := wire.Decode(text, &l); err != nil {
		return false, t.client.Malformed(err)
	}
	if len(l.Error) > 0 && l.Error.Kind() != 'n' && string(l.Error) != `""` {
		var e wire.OpenAIError
		_ = e.UnmarshalJSON(l.Error)                    // what is odd stays out
		return false, t.client.Failure(500, problem(e)) // the server gives no status here
	}
	if err := t.draft.Tell(l.Message.Thinking, l.Message.Content, tell); err != nil {
		return false, err
	}
	switch word := strings.TrimSpace(l.Message.Content); {
	case l.Message.Content == "":
	case word == t.word:
		t.repeats++
	default:
		t.word, t.repeats = word, 0
	}
	for _, c := range l.Message.ToolCalls {
		g := t.draft.Open(event.ToolCallPart)
		g.ToolCallID, g.ToolName = c.ID, c.Function.Name
		if g.Args = c.Function.Arguments; g.Args.Kind() == '"' { // servers that imitate this one write the text of an object
			g.Args = rawjson.Value(wire.Word(g.Args))
		}
		t.calls++
	}
	t.reason = l.Reason
	return l.Done, nil
}

func (t *turn) Answer() (*model.Answer, error) {
	a := &model.Answer{Parts: t.draft.Parts(), Usage: t.Usage(), Finish: model.FinishOther, Reason: t.reason, CutsInput: true}
	switch {
	case t.reason == "length":
		a.Finish = model.FinishLength
	case t.reason == "stop" && t.calls > 0:
		a.Finish = model.FinishToolCalls
	case t.reason == "stop":
		a.Finish = model.FinishStop
	}
	return a, nil
}

func (t *turn) Usage() event.Usage {
	return wire.Usage(t.counts.Prompt, t.counts.Cached, t.counts.Eval, 0)
}
