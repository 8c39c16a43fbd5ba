// Package schema is the command that prints the JSON Schemas of perstack.toml and config.toml.
//
// It reads nothing: the schemas are those of the program itself, made by package
// manifest. Start reading at [New].
package schema

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/manifest"
)

// Options are what the command works with.
type Options struct {
	Host *host.Host
	User bool // that of the user's own configuration
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of perstack.toml",
		Long: `Print the JSON Schema (draft-07) of perstack.toml. Editors use it to complete and
explain keys, and to mark mistakes while you type.

Save it next to perstack.toml and name it in the first line of that file:

  #:schema ./perstack.schema.json

Editors that use Taplo read that line. In VS Code, that is the extension Even Better
TOML. perstack itself does not use the schema. perstack validate checks more than a
schema can express.

--user prints the schema of config.toml, your own configuration, which docs/config.md
describes.`,
		Example: `  perstack schema > perstack.schema.json
  perstack schema --user > config.schema.json`,
		Args:              host.NoArgs("perstack validate checks a file"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runF(cmd.Context(), opts)
		},
	}
	cmd.Flags().BoolVar(&opts.User, "user", false, "print the schema of your own configuration, config.toml")
	return cmd
}

func run(_ context.Context, opts *Options) error {
	schema := manifest.JSONSchema
	if opts.User {
		schema = manifest.UserSchema
	}
	_, err := opts.Host.Stdout.Write(schema())
	return err
}
