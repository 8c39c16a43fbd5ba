package gemini

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

type turn struct {
	client *wire.Client // of this call
	draft  wire.Draft
	usage  usage
	reason string // of the end; empty as long as there is none
	block  string // why the question was not even read
	called bool
	notes  [2]rawjson.Value // on sources, by their place in noteNames; the last word counts
}

type chunk struct {
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []rawjson.Value `json:"parts"`
		} `json:"content"`
		FinishReason  string        `json:"finishReason"`
		FinishMessage string        `json:"finishMessage"`
		Grounding     rawjson.Value `json:"groundingMetadata"`
		URLContext    rawjson.Value `json:"urlContextMetadata"`
	} `json:"candidates"`
	Feedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *usage    `json:"usageMetadata"`
	Error *apiError `json:"error"`
}

// patience is how long more is waited for once the reason of the end was given. Some models
// give it before their last words, so that the end of the stream is waited for; it comes at
// once.
const patience = 5 * time.Second

// Read takes the chunks of a stream up to the last and tells what there is to tell.
func (t *turn) Read(stream *wire.Stream, tell wire.Tell) error {
	for {
		e, err := stream.Next()
		switch {
		case err != nil && t.ended() && isSilence(err):
			return nil
		case errors.Is(err, io.EOF):
			return t.client.Incomplete()
		case err != nil:
			return err
		}
		c := chunk{Usage: &t.usage} // some chunks leave out what has not changed
		if err := wire.Decode(e.Data, &c); err != nil {
			return t.client.Malformed(err)
		}
		if err := t.take(&c, tell); err != nil {
			return err
		}
		if err := t.draft.Check(t.client); err != nil {
			return err
		}
		if t.ended() && (t.client.Idle <= 0 || t.client.Idle > patience) {
			t.client.Idle = patience
		}
	}
}

func (t *turn) ended() bool { return t.reason != "" || t.block != "" }

// isSilence reports whether a stream has no more to say: it ended, or says nothing. One
// that broke off may have had more.
func isSilence(err error) bool {
	var e *model.Error
	return errors.Is(err, io.EOF) || errors.As(err, &e) && e.Name == "TimeoutError"
}

func (t *turn) take(c *chunk, tell wire.Tell) error {
	if c.Error != nil {
		return t.client.Failure(c.Error.status(), c.Error.problem())
	}
	if c.Feedback.BlockReason != "" {
		t.block = c.Feedback.BlockReason
	}
	for i := range c.Candidates {
		candidate := &c.Candidates[i]
		if candidate.Index != 0 {
			continue // a second answer was not requested
		}
		for _, raw := range candidate.Content.Parts {
			if err := t.part(raw, tell); err != nil {
				return err
			}
		}
		for n, note := range []rawjson.Value{candidate.Grounding, candidate.URLContext} {
			if note.Kind() == '{' && len(note) > 2 {
				t.notes[n] = note
			}
		}
		switch candidate.FinishReason {
		case "":
		case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
			// The model's mistake, and not its last word: asked again it does better.
			return t.client.Failure(500, wire.Problem{Passing: true, Message: fmt.Sprintf(
				"the model wrote a call that cannot be read (%s) %s", candidate.FinishReason, candidate.FinishMessage)})
		default:
			t.reason = candidate.FinishReason
		}
	}
	return nil
}

// hostedPart is what the provider ran itself, in one of these members.
type hostedPart struct {
	Code       rawjson.Value `json:"executableCode"`
	CodeResult rawjson.Value `json:"codeExecutionResult"`
	Tool       *hostedCall   `json:"toolCall"`
	ToolResult *hostedCall   `json:"toolResponse"`
	Inline     rawjson.Value `json:"inlineData"`
	File       rawjson.Value `json:"fileData"`
}

type hostedCall struct {
	Type string `json:"toolType"`
}

// kind names what ran, or is empty.
func (h *hostedPart) kind() string {
	switch {
	case h.Code != nil, h.CodeResult != nil:
		return "codeExecution"
	case h.Tool != nil:
		return "toolCall " + h.Tool.Type
	case h.ToolResult != nil:
		return "toolCall " + h.ToolResult.Type
	case h.Inline != nil, h.File != nil:
		return "media"
	}
	return ""
}

// noteNames are the members in which the API says something about an answer.
var noteNames = [2]string{"groundingMetadata", "urlContextMetadata"}

// part adds a part and tells what there is to tell.
func (t *turn) part(raw rawjson.Value, tell wire.Tell) error {
	var p struct {
		apiPart    `json:",embed"`
		hostedPart `json:",embed"`
	}
	if err := wire.Decode(raw, &p); err != nil {
		return t.client.Malformed(err)
	}
	switch kind := p.kind(); {
	case p.Call != nil:
		t.called = true
		g := t.draft.Open(event.ToolCallPart)
		g.ToolCallID, g.ToolName = p.Call.ID, p.Call.Name
		if g.Args = p.Call.Args; len(g.Args) == 0 || g.Args.Kind() == 'n' {
			g.Args = rawjson.Value("{}") // a call without arguments has none
		}
		g.ProviderData = markOf(p.Signature, p.Call.ID)
	case kind != "":
		g := t.draft.Open(event.ProviderPart)
		g.ToolName, g.ProviderData = kind, raw
	case p.Text != nil || p.Signature != "":
		return t.words(&p.apiPart, tell)
	}
	return nil
}

// words adds words to a text or a thought. What has a signature is a part for itself: the
// signature belongs to it alone, even if it is empty.
func (t *turn) words(p *apiPart, tell wire.Tell) error {
	words, kind := "", event.TextPart
	if p.Text != nil {
		words = *p.Text
	}
	if p.Thought {
		kind = event.ThinkingPart
	}
	if words == "" && p.Signature == "" {
		return nil
	}
	g := t.draft.Last(kind)
	if p.Signature != "" && g.Len() > 0 || g.ProviderData != nil {
		g = t.draft.Open(kind)
	}
	if p.Signature != "" {
		g.ProviderData = markOf(p.Signature, "")
	}
	return g.Tell(words, tell)
}

func markOf(signature, id string) rawjson.Value {
	if signature == "" && id == "" {
		return nil
	}
	return encode(mark{signature, id})
}

func (t *turn) Answer() (*model.Answer, error) {
	for n, note := range t.notes {
		if note != nil {
			g := t.draft.Open(event.ProviderPart)
			g.ToolName = noteNames[n]
			g.ProviderData = encode(map[string]rawjson.Value{noteNames[n]: note})
		}
	}
	a := &model.Answer{Parts: t.draft.Parts(), Usage: t.Usage(), Finish: cmp.Or(finishes[t.reason], model.FinishOther), Reason: t.reason}
	if t.called && a.Finish == model.FinishStop {
		a.Finish = model.FinishToolCalls
	}
	if t.block != "" {
		a.Finish, a.Reason = model.FinishContentFilter, t.block
	}
	return a, nil
}

var finishes = map[string]model.Finish{
	"STOP": model.FinishStop, "MAX_TOKENS": model.FinishLength,
	"SAFETY": model.FinishContentFilter, "RECITATION": model.FinishContentFilter, "BLOCKLIST": model.FinishContentFilter,
	"PROHIBITED_CONTENT": model.FinishContentFilter, "SPII": model.FinishContentFilter, "MODEL_ARMOR": model.FinishContentFilter,
	"IMAGE_SAFETY": model.FinishContentFilter, "IMAGE_PROHIBITED_CONTENT": model.FinishContentFilter, "IMAGE_RECITATION": model.FinishContentFilter,
}

type usage struct {
	Prompt     wire.Count `json:"promptTokenCount"`
	Cached     wire.Count `json:"cachedContentTokenCount"`
	ToolUse    wire.Count `json:"toolUsePromptTokenCount"`
	Candidates wire.Count `json:"candidatesTokenCount"`
	Thoughts   wire.Count `json:"thoughtsTokenCount"`
}

// Usage counts thoughts as output, and what Google's own tools gave the model as input:
// the provider bills them so, and counts them beside it.
func (t *turn) Usage() event.Usage {
	u := &t.usage
	return wire.Usage(u.Prompt+u.ToolUse, u.Cached, u.Candidates+u.Thoughts, u.Thoughts)
}
