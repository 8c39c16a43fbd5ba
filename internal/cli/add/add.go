// Package add is the command that puts a published Expert into perstack.toml: as a delegate of an Expert,
// or as a copy.
//
// It changes the text of the file at one place, and keeps the rest. Start reading at [New]; edit.go changes
// the text.
package add

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/resolve"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/userfile"
)

// Options are what the command works with.
type Options struct {
	Host  *host.Host
	Flags published.Flags
	Key   string
	To    string // name of the Expert that delegates; empty for the only one
	As    string // name of the copy; empty to add a delegate
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = func(ctx context.Context, opts *Options) error { return opts.run(ctx) }
	}
	cmd := &cobra.Command{
		Use:   "add key",
		Short: "Add a published Expert to perstack.toml",
		Long: `Add a published Expert to perstack.toml. It becomes a delegate of the Expert that --to
names; without --to, of the only one in the file. With --as, a copy of it becomes an
Expert of the file instead, which you can change. You see what it can do, and are asked
before it is copied; without a terminal, --yes is needed.

The registry is asked for the Expert, and what it says is verified, with the checks of a
run. The key is written as you give it: @acme/reader is the newest version when you
install it, @acme/reader@1.2.0 always the same. perstack install pins it. Before the first
run you are asked about what it can do. Comments and the order of the file stay as they
are.

Exit codes: 0 added, or it is there already; 1 the registry could not be reached, or what
it says cannot be verified; 2 wrong usage, an Expert that does not exist, or a file that
cannot be changed. The file is changed only if the code is 0.`,
		Example: `  perstack add @acme/reader
  perstack add @acme/reader@1.2.0 --to lead
  perstack add @acme/reader --as reader --yes`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return host.Usagef("add takes the key of one expert, but got %d arguments", len(args))
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			opts.Key = args[0]
			return runF(cmd.Context(), opts)
		},
	}
	opts.Flags.Add(h, cmd)
	cmd.Flags().StringVar(&opts.To, "to", "", "Expert of perstack.toml that delegates to it")
	cmd.Flags().StringVar(&opts.As, "as", "", "copy it into perstack.toml, with this name")
	h.AddYes(cmd, "copy it without a question")
	expertNames := complete.Expert(h, &opts.Flags.Config)
	for flag, offers := range map[string]cobra.CompletionFunc{
		"to": func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return expertNames(cmd, nil, word)
		},
		"as": cobra.NoFileCompletions,
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, offers); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

func (o *Options) run(ctx context.Context) (err error) {
	if _, err := expert.ParseKey(o.Key); err != nil {
		return host.Usagef("%w", err)
	}
	if o.To != "" && o.As != "" {
		return host.Usagef("--to and --as exclude each other; give one")
	}
	s, err := published.Open(ctx, o.Host, o.Flags.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if s.Config == nil {
		_, err := o.Host.Locate(o.Flags.Config) // which says that there is none
		return err
	}
	to, err := o.target(s.Config)
	if err != nil {
		return err
	}
	if _, ok := s.Config.Lookup(o.Key); ok && to != nil {
		return host.Usagef("%s is an expert of %s, which is used instead of a published one of that name; copy the published one with --as NAME", o.Key, s.Config.Name())
	}
	r, err := s.Registry(ctx, o.Key)
	if err != nil {
		return err
	}
	found, err := r.Resolve(ctx, o.Key)
	if err != nil {
		return err
	}
	if err := r.Bind(ctx); err != nil {
		return err
	}
	e := found.Expert()
	if to != nil && hasDelegate(to, o.Key) {
		return o.tell(r, e, "is a delegate of "+to.Name+" already")
	}
	if _, err := fmt.Fprint(o.Host.Stderr, published.Abilities(found.Card)); err != nil {
		return err
	}
	if to == nil {
		if err := o.confirm(ctx, s.Config, found); err != nil {
			return err
		}
	}
	if err := o.write(s.Config, to, e); err != nil {
		return err
	}
	if to == nil {
		return o.tell(r, e, "was copied into "+s.Config.Name()+" as "+o.As)
	}
	return o.tell(r, e, "is a delegate of "+to.Name+" now")
}

// target is the Expert that gets the delegate; nil for a copy.
func (o *Options) target(config *manifest.Config) (*expert.Expert, error) {
	switch {
	case o.As != "":
		if !expert.ValidName(o.As) {
			return nil, host.Usagef("--as: %q is not a name of an Expert", o.As)
		}
		if _, ok := config.Lookup(o.As); ok {
			return nil, host.Usagef("--as: %s is in %s already; choose another name", o.As, config.Name())
		}
		return nil, nil
	case o.To != "":
		return host.FindExpert(config, o.To)
	case len(config.Experts) == 1:
		return config.Experts[0], nil
	case len(config.Experts) == 0:
		return nil, host.Usagef("%s has no expert that could delegate; add a copy with --as NAME", config.Name())
	}
	return nil, host.Usagef("%s has several experts; say with --to which of them delegates: %s", config.Name(), strings.Join(config.Keys(), ", "))
}

// write changes the file.
func (o *Options) write(config *manifest.Config, to *expert.Expert, e *client.Expert) error {
	const limit = 16 << 20
	data, err := userfile.Read(config.Path, limit)
	if err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	var changed, lines string
	if to == nil {
		lines = e.Definition.TOML(o.As)
		changed, err = withTable(string(data), o.As, lines)
	} else {
		lines = fmt.Sprintf("delegates = [%q]", o.Key)
		changed, err = withDelegate(string(data), to.Name, o.Key)
	}
	if err != nil {
		return host.Usagef("%s: %w; add it yourself:\n%s", config.Path, err, terminal.Reveal(lines))
	}
	return replace(config.Path, []byte(changed))
}

// replace writes a file of the user as a whole, with the rights that it had.
func replace(path string, data []byte) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return host.Usagef("%s is not a regular file, so it is not changed", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close())
		if err == nil {
			err = os.Rename(f.Name(), path)
		}
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, userfile.Reason(err))
	}
	return nil
}

// confirm asks before a text of others becomes one of the user's own file: a copy is not asked about when it
// runs, and can be changed to do more.
func (o *Options) confirm(ctx context.Context, config *manifest.Config, found *resolve.Root) error {
	what := fmt.Sprintf("%s of %s becomes a part of %s, where it is trusted like your own Experts", found.Pin.Exact, terminal.CleanLine(found.Pin.Registry), config.Name())
	if found.Newer != "" {
		what += ". It is older than " + terminal.CleanLine(found.Newer) + ", which the registry had before"
	}
	switch {
	case o.Host.Yes:
		return nil
	case !o.Host.CanConfirm():
		return host.Usagef("%s; read it with %s view %s, and add --yes if that is meant", what, o.Host.Command, terminal.ShellJoin(found.Pin.Exact))
	}
	yes, err := o.Host.Confirm(ctx, "perstack: %s. Copy it?", what)
	if err == nil && !yes {
		err = host.Usagef("nothing was copied")
	}
	return err
}

// tell prints the result.
func (o *Options) tell(r *published.Registry, e *client.Expert, what string) error {
	if o.Flags.JSON {
		return host.WriteJSON(o.Host.Stdout, struct {
			Key      string `json:"key"`
			Exact    string `json:"exact"`
			Digest   string `json:"digest"`
			Registry string `json:"registry"`
			Result   string `json:"result"`
		}{o.Key, e.Key, e.Digest, r.Client.URL(), o.Key + " " + what})
	}
	text := fmt.Sprintf("%s %s\n  Version: %s\n  Digest: %s\n", o.Key, what, e.Key, e.Digest)
	if o.As == "" {
		text += "  Pin it: " + o.Host.Command + " install\n"
	}
	_, err := fmt.Fprint(o.Host.Stdout, text)
	return err
}
