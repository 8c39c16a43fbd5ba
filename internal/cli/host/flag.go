package host

import "github.com/spf13/pflag"

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
