package replay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/model"
)

// The tables as they are written. A pointer tells a missing key from one
// that is empty.
type (
	fileTable struct {
		Turn []turnTable `toml:"turn"`
	}
	turnTable struct {
		Expert    *string     `toml:"expert"`
		Query     *string     `toml:"query"`
		Turn      *int        `toml:"turn"`
		Attempt   *int        `toml:"attempt"`
		Contains  *string     `toml:"contains"`
		Reasoning string      `toml:"reasoning"`
		Text      *string     `toml:"text"`
		Finish    *string     `toml:"finish"`
		Delay     *string     `toml:"delay"`
		Usage     *usageTable `toml:"usage"`
		Call      []callTable `toml:"call"`
		Error     *errorTable `toml:"error"`
	}
	callTable struct {
		ID       *string        `toml:"id"`
		Tool     string         `toml:"tool"`
		Args     map[string]any `toml:"args"`
		ArgsText *string        `toml:"argsText"`
	}
	errorTable struct {
		Name       string  `toml:"name"`
		Status     int     `toml:"status"`
		Message    string  `toml:"message"`
		Retryable  *bool   `toml:"retryable"`
		RetryAfter *string `toml:"retryAfter"`
		After      *string `toml:"after"`
	}
	usageTable struct {
		Input     int `toml:"input"`
		Output    int `toml:"output"`
		Reasoning int `toml:"reasoning"`
		Cached    int `toml:"cached"`
	}
)

var finishes = []model.Finish{
	model.FinishStop, model.FinishToolCalls, model.FinishLength, model.FinishContentFilter, model.FinishOther,
}

func (t turnTable) turn() (turn, error) {
	var out turn
	var errs [6]error
	out.rules, errs[0] = turns.Table{Expert: t.Expert, Query: t.Query, Turn: t.Turn, Attempt: t.Attempt, Contains: t.Contains}.Rules()
	out.delay, errs[1] = duration("delay", t.Delay)
	out.usage, errs[2] = t.Usage.usage()
	out.parts, errs[3] = t.parts()
	out.failure, errs[4] = t.failure()
	out.finish, errs[5] = t.finish()
	if err := cmp.Or(errs[:]...); err != nil {
		return out, err
	}
	if t.Text == nil && t.Reasoning == "" && t.Call == nil && t.Error == nil {
		return out, errors.New(`it answers nothing; give it text, reasoning, a [[turn.call]] or a [turn.error] (text = "" is an empty answer)`)
	}
	return out, nil
}

func (t turnTable) hasText() bool { return t.Text != nil && *t.Text != "" }

func (t turnTable) finish() (model.Finish, error) {
	switch {
	case t.Finish != nil && !slices.Contains(finishes, model.Finish(*t.Finish)):
		return "", fmt.Errorf("unknown finish %q; use stop, tool-calls, length, content-filter or other", *t.Finish)
	case t.Finish != nil:
		return model.Finish(*t.Finish), nil
	case len(t.Call) > 0:
		return model.FinishToolCalls, nil
	}
	return model.FinishStop, nil
}

// parts are what the model says: a thought, a text and calls.
func (t turnTable) parts() (parts []event.Part, err error) {
	if t.Reasoning != "" {
		parts = append(parts, event.Part{Type: event.ThinkingPart, Thinking: t.Reasoning})
	}
	if t.hasText() {
		parts = append(parts, event.Part{Type: event.TextPart, Text: *t.Text})
	}
	seen := make(map[string]bool)
	for i, c := range t.Call {
		p := event.Part{Type: event.ToolCallPart, ToolName: c.Tool}
		switch {
		case c.Tool == "":
			return nil, fmt.Errorf("call number %d has no tool", i+1)
		case c.Args != nil && c.ArgsText != nil:
			return nil, fmt.Errorf("the call of %s has args and argsText; keep one", c.Tool)
		case c.ID != nil && *c.ID == "":
			return nil, fmt.Errorf("the call of %s has an empty id; leave it out to have one made", c.Tool)
		case c.ID != nil && seen[*c.ID]:
			return nil, fmt.Errorf("two calls have the id %q", *c.ID)
		}
		if c.ID != nil {
			p.ToolCallID = *c.ID
			seen[p.ToolCallID] = true
		}
		if c.ArgsText != nil {
			p.Args = []byte(*c.ArgsText) // exactly as written, broken or not
		} else if p.Args, err = turns.EncodeArgs(c.Args); err != nil {
			return nil, fmt.Errorf("the call of %s: %w", c.Tool, err)
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func (t turnTable) failure() (*model.Error, error) {
	e := t.Error
	if e == nil {
		return nil, nil
	}
	if e.Name == "" {
		return nil, errors.New(`the error has no name; give it one like "RateLimitError"`)
	}
	switch {
	case t.Call != nil || t.Finish != nil:
		return nil, errors.New("an error replaces the answer; remove call and finish")
	case t.Usage != nil && e.After == nil:
		return nil, errors.New("an error that comes at once costs nothing; remove usage, or set after")
	}
	wait, err := duration("retryAfter", e.RetryAfter)
	if err != nil {
		return nil, err
	}
	f := &model.Error{
		Name: e.Name, Message: cmp.Or(e.Message, "the cassette has an error here"),
		StatusCode: e.Status, Retryable: retryableStatus(e.Status), RetryAfter: wait,
	}
	if e.Retryable != nil {
		f.Retryable = *e.Retryable
	}
	after := ""
	if e.After != nil {
		after = *e.After
	}
	switch {
	case e.After != nil && after != afterReasoning && after != afterText:
		return nil, fmt.Errorf(`after is %q; use "reasoning" or "text", or leave it out to fail at once`, after)
	case after == afterReasoning && t.Reasoning == "", after == afterText && !t.hasText():
		return nil, fmt.Errorf("the error comes after the %s, but there is none", after)
	case after == "" && t.Reasoning != "", after != afterText && t.Text != nil:
		return nil, errors.New(`an error replaces the answer; to fail in the middle of one, set after = "text"`)
	}
	return f, nil
}

// What a stream delivers before it is cut.
const (
	afterReasoning = "reasoning"
	afterText      = "text"
)

// retryableStatus says what a provider's client would make of an HTTP status.
func retryableStatus(status int) bool {
	return status == 429 || status == 500 || status >= 502 && status <= 504
}

func (u *usageTable) usage() (event.Usage, error) {
	if u == nil {
		return event.Usage{}, nil
	}
	const most = 1 << 40 // of tokens; sums of them stay far from overflowing
	for _, n := range []int{u.Input, u.Output, u.Reasoning, u.Cached} {
		if n < 0 || n > most {
			return event.Usage{}, fmt.Errorf("usage has %d tokens; use numbers from 0 to %d", n, most)
		}
	}
	return event.Usage{
		InputTokens:       u.Input,
		OutputTokens:      u.Output,
		ReasoningTokens:   u.Reasoning,
		TotalTokens:       u.Input + u.Output,
		CachedInputTokens: u.Cached,
	}, nil
}

func duration(key string, s *string) (time.Duration, error) {
	if s == nil {
		return 0, nil
	}
	d, err := time.ParseDuration(*s)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%s is %q; write a time like 20ms or 1.5s", key, *s)
	}
	return d, nil
}
