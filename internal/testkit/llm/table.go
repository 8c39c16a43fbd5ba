package llm

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// The tables as they are written. A pointer tells a key that is not there from one
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
		Text      *string     `toml:"text"`
		Call      []callTable `toml:"call"`
		Stop      *string     `toml:"stop"`
		Usage     usageTable  `toml:"usage"`

		Delay      string `toml:"delay"`
		EventDelay string `toml:"eventDelay"`

		Error      *errorTable `toml:"error"`
		ErrorAfter *int        `toml:"errorAfter"`
		CutAfter   *int        `toml:"cutAfter"`
		CutInside  bool        `toml:"cutInside"`
		EndAfter   *int        `toml:"endAfter"`
		Redirect   string      `toml:"redirect"`
		Raw        string      `toml:"raw"`
		MiB        int         `toml:"mib"`
		Depth      int         `toml:"depth"`
	}
	callTable struct {
		ID       string         `toml:"id"`
		Tool     string         `toml:"tool"`
		Args     map[string]any `toml:"args"`
		ArgsText *string        `toml:"argsText"`
		Depth    int            `toml:"depth"`
	}
	errorTable struct {
		Status       int     `toml:"status"`
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

// turn checks the table and returns what it says.
func (t turnTable) turn() (turn, error) {
	out := turn{
		reasoning: t.Reasoning, redacted: t.Redacted, usage: t.Usage,
		errorAt: orNever(t.ErrorAfter), cutAt: orNever(t.CutAfter), endAt: orNever(t.EndAfter), half: t.CutInside,
		redirect: t.Redirect,
	}
	if t.Text != nil {
		out.text = *t.Text
	}
	if t.Reasoning != "" {
		out.signature = sign(t.Reasoning)
		if t.Signature != nil {
			out.signature = *t.Signature
		}
	}
	var errs [6]error
	out.rules, errs[0] = t.rules()
	out.calls, errs[1] = calls(t.Call)
	out.failure, errs[2] = t.failure()
	errs[3] = errors.Join(t.pauses(&out), t.Usage.check())
	errs[4] = t.rawBody(&out)
	out.stop = t.stopReason()
	errs[5] = t.together(&out)
	for _, err := range errs {
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func orNever(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

func (t turnTable) stopReason() string {
	switch {
	case t.Stop != nil:
		return *t.Stop
	case len(t.Call) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (t turnTable) pauses(out *turn) (err error) {
	if out.delay, err = duration("delay", t.Delay); err != nil {
		return err
	}
	out.eventDelay, err = duration("eventDelay", t.EventDelay)
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
func (t turnTable) together(out *turn) error {
	content := t.Text != nil || t.Reasoning != "" || t.Redacted != "" || t.Call != nil
	streamed := t.ErrorAfter != nil || t.CutAfter != nil || t.EndAfter != nil
	ends := 0
	alone := t.Error != nil && t.ErrorAfter == nil && t.Raw == "" && t.Redirect == ""
	for _, given := range []bool{t.ErrorAfter != nil, t.CutAfter != nil, t.EndAfter != nil, t.Redirect != "", t.Raw != "", alone} {
		if given {
			ends++
		}
	}
	needs := t.Raw == rawWrongType || streamed
	total := len(out.events(reply{}))
	switch {
	case ends > 1:
		return errors.New("it ends in more than one way; keep one of error, errorAfter, cutAfter, endAfter, redirect and raw")
	case ends == 0 && !content:
		return errors.New(`it answers nothing; give it text, reasoning, a [[turn.call]] or a failure (text = "" is an answer without output)`)
	case ends == 1 && content && !needs:
		return errors.New("an error, a redirect or a raw body stands in the place of an answer; remove the answer, or use errorAfter or cutAfter")
	case t.Error != nil && t.Raw != "" && !slices.Contains([]string{rawHTML, rawEmptyBody, rawGarbage}, t.Raw):
		return fmt.Errorf("the body %s belongs to a stream that began well; remove the error", t.Raw)
	case t.Signature != nil && t.Reasoning == "":
		return errors.New("it has a signature but no reasoning")
	case t.CutInside && t.CutAfter == nil:
		return errors.New("cutInside needs cutAfter")
	case t.ErrorAfter != nil && t.Error != nil && t.Error.Status != 0:
		return errors.New("an error inside the stream has no status; that was 200")
	}
	for _, at := range []*int{t.ErrorAfter, t.CutAfter, t.EndAfter} { // one of them at the most
		if at != nil && (*at < 0 || *at > total || t.CutInside && *at == total) {
			return fmt.Errorf("it ends after %d events, but the answer has %d", *at, total)
		}
	}
	return nil
}
