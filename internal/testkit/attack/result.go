package attack

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

// What can come of an attempt.
const (
	Denied  = "denied"  // the kernel said no
	Absent  = "absent"  // there is no such thing
	Refused = "refused" // the proxy said no
	Reached = "reached" // it worked
	Broken  = "broken"  // the attempt itself failed
)

// A Result is what came of one attempt.
type Result struct {
	Attack  string `json:"attack"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitzero"`
}

// word turns what a system call said into an outcome.
func word(err error) string {
	switch {
	case err == nil:
		return Reached
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.EXDEV), errors.Is(err, syscall.EAFNOSUPPORT), errors.Is(err, syscall.EPROTONOSUPPORT):
		return Denied
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH):
		return Absent
	}
	return Broken
}

func result(attack string, err error) Result {
	r := Result{Attack: attack, Outcome: word(err)}
	if err != nil {
		r.Detail = err.Error()
	}
	return r
}

// Wants are the outcomes that an attack may have. Nothing of a victim may be absent: then
// the attempt would prove nothing. Only what must not be there at all may.
func Wants(attack string) []string {
	switch name, _, _ := strings.Cut(attack, ":"); name {
	case "own-listener":
		return []string{Refused}
	case "control":
		return []string{Reached}
	case "place", "shared", "device":
		return []string{Denied, Absent}
	}
	return []string{Denied}
}

// Holds reports whether a result is as it has to be.
func (r Result) Holds() bool { return slices.Contains(Wants(r.Attack), r.Outcome) }
