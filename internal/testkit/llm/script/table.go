package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/providers/replay/turns"
	"github.com/perstack-go/perstack/rawjson"
)

// The tables as they are written. A pointer tells a missing key from one
// that is empty.
type (
	turnTable struct {
		System   *string `toml:"system"`
		Query    *string `toml:"query"`
		Turn     *int    `toml:"turn"`
		Attempt  *int    `toml:"attempt"`
		Contains *string `toml:"contains"`

		Reasoning string      `toml:"reasoning"`
		Signature *string     `toml:"signature"`
		Redacted  string      `toml:"redacted"`
		Hosted    []string    `toml:"hosted"`
		Text      *string     `toml:"text"`
		Call      []callTable `toml:"call"`
		Stop      *string     `toml:"stop"`
		Length    bool        `toml:"length"`
		Usage     usageTable  `toml:"usage"`

		Delay      string `toml:"delay"`
		EventDelay string `toml:"eventDelay"`
		Silence    string `toml:"silence"`

		Error      *errorTable `toml:"error"`
		ErrorAfter *int        `toml:"errorAfter"`
		CutAfter   *int        `toml:"cutAfter"`
		CutInside  bool        `toml:"cutInside"`
		EndAfter   *int        `toml:"endAfter"`
		Redirect   string      `toml:"redirect"`
		Raw        Raw         `toml:"raw"`
		MiB        int         `toml:"mib"`
		Depth      int         `toml:"depth"`
	}
	callTable struct {
		ID        string         `toml:"id"`
		Tool      string         `toml:"tool"`
		Args      map[string]any `toml:"args"`
		ArgsText  *string        `toml:"argsText"`
		Depth     int            `toml:"depth"`
		Reasoning string         `toml:"reasoning"`
		Signature *string        `toml:"signature"`
	}
	errorTable struct {
		Status       int     `toml:"status"`
		Kind         string  `toml:"kind"`
		Type         string  `toml:"type"`
		Message      string  `toml:"message"`
		RetryAfter   *string `toml:"retryAfter"`
		RetryAfterMS *string `toml:"retryAfterMs"`
	}
	usageTable struct {
		Input      int `toml:"input"`
		Output     int `toml:"output"`
		Cached     int `toml:"cached"`
		CacheWrite int `toml:"cacheWrite"`
		Reasoning  int `toml:"reasoning"`
	}
)

// answer checks the table and returns what it says.
func (t turnTable) answer() (Answer, error) {
	a := Answer{
		ErrorAfter: t.ErrorAfter, CutAfter: t.CutAfter, EndAfter: t.EndAfter, CutInside: t.CutInside,
		Redirect: t.Redirect,
	}
	var errs [7]error
	a.rules, errs[0] = turns.Table{System: t.System, Query: t.Query, Turn: t.Turn, Attempt: t.Attempt, Contains: t.Contains}.Rules()
	a.Turn, errs[1] = t.turn()
	errs[2] = t.failure(&a)
	errs[3] = t.pauses(&a)
	errs[4] = t.Usage.check()
	errs[5] = t.rawBody(&a)
	errs[6] = t.together()
	for _, err := range errs {
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

// turn is what the answer says.
func (t turnTable) turn() (out Turn, err error) {
	out = Turn{
		Reasoning: t.Reasoning, Redacted: t.Redacted, Hosted: t.Hosted, Text: given(t.Text), Length: t.Length,
		Stop: given(t.Stop), NoStop: t.Stop != nil && *t.Stop == "", Usage: Usage(t.Usage),
	}
	if out.Signature, err = seal(t.Reasoning, t.Signature); err != nil {
		return out, err
	}
	for i, block := range t.Hosted {
		if v := rawjson.Value(block); !v.IsValid() || v.Kind() != '{' {
			return out, fmt.Errorf("hosted number %d is no object of JSON", i+1)
		}
	}
	if t.Length && t.Stop != nil {
		return out, errors.New("it has a stop and a length; the length is a stop in the words of every wire")
	}
	out.Calls, err = calls(t.Call)
	return out, err
}

// calls checks the calls of a turn and encodes their arguments. Two may have the same
// id, and a name may be unknown: that is what a test may want.
func calls(tables []callTable) ([]Call, error) {
	var out []Call
	for i, t := range tables {
		c := Call{ID: t.ID, Tool: t.Tool, Reasoning: t.Reasoning}
		switch {
		case t.Tool == "":
			return nil, fmt.Errorf("call number %d has no tool", i+1)
		case t.Args != nil && t.ArgsText != nil, t.Depth != 0 && (t.Args != nil || t.ArgsText != nil):
			return nil, fmt.Errorf("the call of %s may have one of args, argsText and depth", t.Tool)
		case t.Depth < 0 || t.Depth > maxNesting:
			return nil, fmt.Errorf("the call of %s has the depth %d; the most is %d", t.Tool, t.Depth, maxNesting)
		case t.ArgsText != nil:
			c.Args = *t.ArgsText
		case t.Depth > 0:
			c.Args = `{"deep":` + Nested(t.Depth) + "}"
		default:
			args, err := turns.EncodeArgs(t.Args)
			if err != nil {
				return nil, fmt.Errorf("the call of %s: %w", t.Tool, err)
			}
			c.Args = string(args)
		}
		signature, err := seal(t.Reasoning, t.Signature)
		if err != nil {
			return nil, fmt.Errorf("the call of %s: %w", t.Tool, err)
		}
		c.Signature = signature
		out = append(out, c)
	}
	return out, nil
}

// Nested is a list in a list in a list.
func Nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}

// given returns what a pointer points to, or zero.
func given[T any](p *T) (zero T) {
	if p == nil {
		return zero
	}
	return *p
}

// seal is the signature of a thought: the one that is given, or one that follows from it.
func seal(thought string, signature *string) (string, error) {
	switch {
	case thought == "" && signature != nil:
		return "", errors.New("it has a signature but no reasoning")
	case thought == "":
		return "", nil
	case signature != nil:
		return *signature, nil
	}
	return Sign(thought), nil
}

func (t turnTable) pauses(a *Answer) (err error) {
	if a.Delay, err = duration("delay", t.Delay); err != nil {
		return err
	}
	if a.EventDelay, err = duration("eventDelay", t.EventDelay); err != nil {
		return err
	}
	a.Silence, err = duration("silence", t.Silence)
	return err
}

func duration(key, s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	const most = 10 * time.Minute // no test waits longer
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 || d > most {
		return 0, fmt.Errorf("%s is %q; write a time like 20ms, at most %s", key, s, most)
	}
	return d, nil
}

func (u usageTable) check() error {
	for _, n := range []int{u.Input, u.Output, u.Cached, u.CacheWrite, u.Reasoning} {
		if n < 0 {
			return fmt.Errorf("usage has %d tokens", n)
		}
	}
	return nil
}

// together refuses keys that contradict each other, and an answer of nothing.
func (t turnTable) together() error {
	content := t.Text != nil || t.Reasoning != "" || t.Redacted != "" || t.Hosted != nil || t.Call != nil
	streamed := t.ErrorAfter != nil || t.CutAfter != nil || t.EndAfter != nil
	ends := 0
	alone := t.Error != nil && t.ErrorAfter == nil && t.Raw == "" && t.Redirect == ""
	for _, given := range []bool{t.ErrorAfter != nil, t.CutAfter != nil, t.EndAfter != nil, t.Redirect != "", t.Raw != "", alone} {
		if given {
			ends++
		}
	}
	needs := t.Raw == RawWrongType || t.Raw == RawGzip || streamed
	switch {
	case ends > 1:
		return errors.New("it ends in more than one way; keep one of error, errorAfter, cutAfter, endAfter, redirect and raw")
	case ends == 0 && !content:
		return errors.New(`it answers nothing; give it text, reasoning, a [[turn.call]] or a failure (text = "" is an answer without output)`)
	case ends == 1 && content && !needs:
		return errors.New("an error, a redirect or a raw body takes the place of an answer; remove the answer, or use errorAfter or cutAfter")
	case t.Error != nil && t.Raw != "" && !slices.Contains([]Raw{RawHTML, RawEmptyBody, RawGarbage}, t.Raw):
		return fmt.Errorf("the body %s belongs to a stream that began well; remove the error", t.Raw)
	case t.CutInside && t.CutAfter == nil:
		return errors.New("cutInside needs cutAfter")
	case t.ErrorAfter != nil && t.Error != nil && t.Error.Status != 0:
		return errors.New("an error inside the stream has no status, since that was 200; use kind")
	}
	return nil
}
