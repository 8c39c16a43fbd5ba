package replay

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/model"
)

// The tables as they are written. A pointer tells a key that is not there from one
// that is empty.
type (
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
	out := turn{reasoning: t.Reasoning}
	if t.Text != nil {
		out.text = *t.Text
	}
	var errs [6]error
	out.rules, errs[0] = turns.Table{Expert: t.Expert, Query: t.Query, Turn: t.Turn, Attempt: t.Attempt, Contains: t.Contains}.Rules()
	out.delay, errs[1] = duration("delay", t.Delay)
	out.usage, errs[2] = t.Usage.usage()
	out.calls, errs[3] = calls(t.Call)
	out.failure, errs[4] = t.failure()
	out.finish, errs[5] = t.finish()
	for _, err := range errs {
		if err != nil {
			return out, err
		}
	}
	if t.Text == nil && t.Reasoning == "" && t.Call == nil && t.Error == nil {
		return out, errors.New(`it answers nothing; give it text, reasoning, a [[turn.call]] or a [turn.error] (text = "" is an empty answer)`)
	}
	return out, nil
}

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

func calls(tables []callTable) ([]call, error) {
	var out []call
	seen := make(map[string]bool)
	for i, t := range tables {
		c := call{tool: t.Tool}
		switch {
		case t.Tool == "":
			return nil, fmt.Errorf("call number %d has no tool", i+1)
		case t.Args != nil && t.ArgsText != nil:
			return nil, fmt.Errorf("the call of %s has args and argsText; keep one", t.Tool)
		case t.ID != nil && *t.ID == "":
			return nil, fmt.Errorf("the call of %s has an empty id; leave it out to have one made", t.Tool)
		case t.ID != nil && seen[*t.ID]:
			return nil, fmt.Errorf("two calls have the id %q", *t.ID)
		}
		if t.ID != nil {
			c.id = *t.ID
			seen[c.id] = true
		}
		if t.ArgsText != nil {
			c.args = []byte(*t.ArgsText) // exactly as written, broken or not
		} else {
			var err error
			if c.args, err = turns.EncodeArgs(t.Args); err != nil {
				return nil, fmt.Errorf("the call of %s: %w", t.Tool, err)
			}
		}
		out = append(out, c)
	}
	return out, nil
}

func (t turnTable) failure() (*failure, error) {
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
	f := &failure{Error: model.Error{
		Name: e.Name, Message: e.Message, StatusCode: e.Status, Retryable: retryableStatus(e.Status), RetryAfter: wait,
	}}
	if f.Message == "" {
		f.Message = "the cassette has an error here"
	}
	if e.Retryable != nil {
		f.Retryable = *e.Retryable
	}
	if e.After != nil {
		f.after = *e.After
	}
	hasText := t.Text != nil && *t.Text != ""
	switch {
	case e.After != nil && f.after != afterReasoning && f.after != afterText:
		return nil, fmt.Errorf(`after is %q; use "reasoning" or "text", or leave it out to fail at once`, f.after)
	case f.after == afterReasoning && t.Reasoning == "", f.after == afterText && !hasText:
		return nil, fmt.Errorf("the error comes after the %s, but there is none", f.after)
	case f.after == "" && t.Reasoning != "", f.after != afterText && t.Text != nil:
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
