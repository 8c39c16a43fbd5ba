// Package tag is the command that sets the tags of published versions.
//
// A tag is a name for a version that can move to another one. The tag latest belongs to the registry.
// Start reading at [New]; change.go has what the commands do, screens.go the wizard.
package tag

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/published"
)

// Options are what the command works with.
type Options struct {
	Host  *host.Host
	Flags published.Flags
	Verb  Verb
	Key   string // empty for the wizard
	Tags  []string
}

// A Verb is what is done with the tags.
type Verb string

// The verbs.
const (
	Set    Verb = ""
	Add    Verb = "add"
	Remove Verb = "rm"
	List   Verb = "ls"
)

const exitCodes = `

Exit codes: 0 changed, or cancelled on a screen; 1 refused by the registry, or it could
not be reached; 2 wrong usage, no key, or a version that does not exist.`

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	cmd := one(h, runF, Set, &cobra.Command{
		Use:   "tag [key] [tag...]",
		Short: "Set the tags of a published version of an Expert",
		Long: `Set the tags of a published version: all of them, so that those which are not given are
removed from it. To change single tags, use perstack tag add and perstack tag rm. The
key must have the exact version. A tag that another version has moves to this one.

The tag latest is set by the registry, and is neither set nor removed here.

On a terminal, without arguments, you choose the version and its tags on screens.` + exitCodes,
		Example: `  perstack tag @acme/researcher@1.2.0 stable lts
  perstack tag add @acme/researcher@1.3.0-rc.1 next
  perstack tag ls @acme/researcher`,
	})
	host.Acts(cmd)
	cmd.AddCommand(
		one(h, runF, Add, &cobra.Command{
			Use: "add key tag...", Short: "Add tags to a version",
			Long:    `Add tags to a published version. A tag that another version has moves to this one.` + exitCodes,
			Example: "  perstack tag add @acme/researcher@1.3.0-rc.1 next",
		}),
		one(h, runF, Remove, &cobra.Command{
			Use: "rm key tag...", Short: "Remove tags from a version",
			Long: `Remove tags from a published version. The version must have all of them. If a tag has moved
to another version in the meantime, the registry does not remove it.` + exitCodes,
			Example: "  perstack tag rm @acme/researcher@1.3.0-rc.1 next",
		}),
		one(h, runF, List, &cobra.Command{
			Use: "ls key", Short: "List tags",
			Long:    `List the tags of an Expert with their versions, or those of one version.` + exitCodes,
			Example: "  perstack tag ls @acme/researcher\n  perstack tag ls @acme/researcher@1.2.0 --json",
		}))
	return cmd
}

// one completes a command with a verb.
func one(h *host.Host, runF func(context.Context, *Options) error, verb Verb, cmd *cobra.Command) *cobra.Command {
	opts := &Options{Host: h, Verb: verb}
	if runF == nil {
		runF = func(ctx context.Context, opts *Options) error { return opts.run(ctx) }
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = complete.Expert(h, &opts.Flags.Config)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if verb != List {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
		}
		if err := host.RefuseEmpty(cmd.Flags()); err != nil {
			return err
		}
		if len(args) > 0 {
			opts.Key, opts.Tags = args[0], args[1:]
		}
		return runF(cmd.Context(), opts)
	}
	opts.Flags.Add(h, cmd)
	return cmd
}
