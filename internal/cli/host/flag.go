package host

import "github.com/spf13/pflag"

// RefuseEmpty reports a flag that was given without a value: an unset variable of a
// script, say. Going on as if the flag were not there would do something else than
// was asked for.
func RefuseEmpty(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && err == nil {
			err = Usagef("--%s is given without a value", f.Name)
		}
	})
	return err
}
