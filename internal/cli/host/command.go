package host

import (
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/manifest"
)

// AtMost returns the Args of a command that takes up to most arguments. refuse says what is
// wrong with more.
func AtMost(most int, refuse func(args []string) error) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > most {
			return refuse(args)
		}
		return nil
	}
}

// NoArgs returns the Args of a command that takes no arguments. The hint says what the user can
// have meant.
func NoArgs(hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return Usagef("%s takes no arguments, but got %q; %s", cmd.Name(), args[0], hint)
		}
		return nil
	}
}

// AddConfigFlag adds the flag --config, which names a perstack.toml.
func AddConfigFlag(cmd *cobra.Command, path *string) {
	addConfig(cmd, path, "path or https URL of perstack.toml, with #sha256=HEX to pin it (default: in this directory or a parent)")
}

// AddLocalConfigFlag is AddConfigFlag for a command that needs the directory of the project. The
// command has to call [RefuseRemote].
func AddLocalConfigFlag(cmd *cobra.Command, path *string) {
	addConfig(cmd, path, "path of perstack.toml (default: in this directory or a parent)")
}

// RefuseRemote returns an error if the flag --config has a URL.
func RefuseRemote(config string) error {
	if manifest.IsRemote(config) {
		return Usagef("--config: this command needs the directory of the project, which a URL does not have; give a path")
	}
	return nil
}

func addConfig(cmd *cobra.Command, path *string, usage string) {
	cmd.Flags().StringVar(path, "config", "", usage)
	if err := cmd.MarkFlagFilename("config", "toml"); err != nil {
		panic(err) // the flag is defined above
	}
}

// AddYesFlag adds --yes; see [Question] and [Host.FetchConfig].
func (h *Host) AddYesFlag(cmd *cobra.Command) {
	h.AddYes(cmd, "allow what the project asks for, without a question: all but env files outside of it, Squid, a sandbox that is off or opens more, and a remote --config that has changed")
}

// AddRemoteYesFlag adds --yes to a command that reads the project and allows it nothing.
func (h *Host) AddRemoteYesFlag(cmd *cobra.Command) {
	h.AddYes(cmd, "use a remote --config that was not used before, without a question")
}

// AddYes adds --yes with a meaning that only one command has.
func (h *Host) AddYes(cmd *cobra.Command, usage string) {
	cmd.Flags().BoolFunc("yes", usage, func(value string) (err error) {
		h.Yes, err = strconv.ParseBool(value)
		return err
	})
}

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

// AddBelow adds commands below one that does nothing by itself.
func (h *Host) AddBelow(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return Usagef("unknown command %q; perstack %s --help lists what there is", cmd.Name()+" "+args[0], cmd.Name())
		}
		return h.HelpInstead(cmd)
	}
	cmd.AddCommand(below...)
	return cmd
}

// acts marks a command that does something by itself, although it has commands below it.
const acts = "acts"

// Acts marks such a command: its arguments are not names of commands.
func Acts(cmd *cobra.Command) { mark(cmd, acts) }

func mark(cmd *cobra.Command, name string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[name] = ""
}

// IsGroup reports whether the first argument of a command has to be the name of one below it.
func IsGroup(cmd *cobra.Command) bool {
	_, itself := cmd.Annotations[acts]
	return cmd.HasSubCommands() && !itself
}

// HelpInstead prints the help of a command that does nothing by itself to standard error,
// and returns the error for wrong usage.
func (h *Host) HelpInstead(cmd *cobra.Command) error {
	cmd.SetOut(h.Stderr)
	if err := cmd.Help(); err != nil {
		return err
	}
	return Exit(ExitUsage)
}

// WriteJSON writes a value for programs, with indentation.
func WriteJSON(w io.Writer, value any) error {
	data, err := json.Marshal(value, jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	// The writer of events escapes what would act on a terminal; so must we.
	return event.NewWriter(w).WriteLine(data)
}
