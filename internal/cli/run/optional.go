package run

import (
	"strconv"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// An optionalInt is a flag that need not be given. It tells "not given" from every
// number, so that a wrong one is not taken for it.
type optionalInt struct {
	value *int
	min   int
	max   int
}

func (o *optionalInt) Type() string { return "int" }

func (o *optionalInt) String() string {
	if o.value == nil {
		return ""
	}
	return strconv.Itoa(*o.value)
}

func (o *optionalInt) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return host.Usagef("it must be a whole number")
	}
	if n < o.min || n > o.max {
		return host.Usagef("it must be between %d and %d", o.min, o.max)
	}
	o.value = &n
	return nil
}
