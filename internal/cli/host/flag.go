package host

import "github.com/spf13/pflag"

// RefuseEmpty returns an error for a flag with an empty value, such as an unset variable in
// a script. Ignoring the flag would do something else than was asked for: an empty list of
// tools would mean all of them.
func RefuseEmpty(flags *pflag.FlagSet) error {
	var err error
	flags.Visit(func(f *pflag.Flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == ""
		if list, ok := f.Value.(pflag.SliceValue); ok {
			empty = len(list.GetSlice()) == 0
		}
		if empty && err == nil {
			err = Usagef("--%s is given without a value", f.Name)
		}
	})
	return err
}
