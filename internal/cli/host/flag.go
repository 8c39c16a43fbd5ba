package host

import (
	"strconv"

	"github.com/spf13/pflag"
)

// RefuseEmpty returns an error for a flag with an empty value, such as an unset variable in
// a script. Ignoring the flag would do something else than was asked for.
func RefuseEmpty(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && err == nil {
			err = Usagef("--%s is given without a value", f.Name)
		}
	})
	return err
}

// Bytes is the value of a flag that limits a number of bytes. Zero means that it was not
// given: a limit of zero is refused.
type Bytes int64

// Type names the value in help texts.
func (b *Bytes) Type() string { return "bytes" }

func (b *Bytes) String() string {
	if *b == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Set reads a whole number from 1.
func (b *Bytes) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return Usagef("it must be a whole number of bytes, 1 or more")
	}
	*b = Bytes(n)
	return nil
}
