package script

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kinds are the words for failures that are the same on every wire, and the status that
// each stands for.
var kinds = map[string]int{
	"invalidRequest": 400,
	"authentication": 401,
	"billing":        402,
	"permission":     403,
	"notFound":       404,
	"tooLarge":       413,
	"rateLimit":      429,
	"internal":       500,
	"unavailable":    503,
	"timeout":        504,
	"overloaded":     529,
}

// failure reads the error of a turn. An error inside a stream has one even if none is
// written, so that there is a text to send.
func (t turnTable) failure(a *Answer) error {
	e := t.Error
	if e == nil {
		if t.ErrorAfter != nil {
			a.Failure = &Failure{Message: "Overloaded"}
		}
		return nil
	}
	f := &Failure{Status: e.Status, Kind: e.Type, Message: e.Message}
	if e.Kind != "" {
		known := kinds[e.Kind]
		switch {
		case known == 0:
			return fmt.Errorf("unknown kind of error %q; use one of %s", e.Kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
		case e.Status != 0 || e.Type != "":
			return errors.New("the error has a kind and a status or a type, which follow from it; keep one")
		}
		f.Status = known
	}
	redirects := f.Status >= 300 && f.Status < 400
	switch {
	case f.Status == 0 && t.ErrorAfter == nil:
		return errors.New("the error has no status; give it one like 429, or a kind")
	case f.Status != 0 && (f.Status < 300 || f.Status > 599):
		return fmt.Errorf("the error has the status %d; use 300 to 599", f.Status)
	case t.Redirect != "" && !redirects:
		return fmt.Errorf("the redirect has the status %d; use 301, 302, 303, 307 or 308", f.Status)
	case t.ErrorAfter != nil && (e.RetryAfter != nil || e.RetryAfterMS != nil):
		return errors.New("an error inside the stream has no headers; remove retryAfter")
	}
	for _, header := range []*string{e.RetryAfter, e.RetryAfterMS} {
		if header != nil && strings.ContainsAny(*header, "\r\n\x00") {
			return errors.New("retryAfter is a header and has one line")
		}
	}
	if f.Message == "" {
		f.Message = "the script has an error here"
	}
	a.Failure, a.RetryAfter, a.RetryAfterMS = f, e.RetryAfter, e.RetryAfterMS
	return nil
}

// KindProblem is why a request is refused.
func KindProblem(status int, format string, args ...any) *Problem {
	return &Problem{Status: status, Message: fmt.Sprintf(format, args...)}
}
