// Package publish is the command that puts an Expert of perstack.toml into its registry.
//
// A published version never changes, so everything is checked before it is sent: here first, then by the
// registry. What the file says and a definition cannot say is refused, never left out. Start reading at
// [New], then run.
package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/complete"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/tui/wizard"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
)

// Options are what the command works with.
type Options struct {
	Host   *host.Host
	Flags  published.Flags
	Expert string // empty for the only one, or a choice
	DryRun bool
	Sign   string // path or fingerprint of a key; empty for no signature
	Tags   []string
	To     string // a reference to a container registry; empty for the registry of the Expert
	// Private makes a new Expert one that only its organization can see.
	Private bool
	// What the file does not say, for readers.
	Readme, License, Repository string
}

// New returns the command. Tests hand in a runF to see the options.
func New(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h}
	if runF == nil {
		runF = func(ctx context.Context, opts *Options) error { return opts.run(ctx) }
	}
	cmd := &cobra.Command{
		Use:   "publish [expert]",
		Short: "Publish an Expert to a registry",
		Long: `Publish an Expert of perstack.toml to its registry, with the version in the file. A
published version never changes; to change the Expert, raise its version.

First everything is checked, and all problems are listed with their lines. What a
published Expert cannot have is refused: programs of your machine, arguments of skills,
settings of a provider. Then the registry is asked whether it would accept the Expert.
What it can do and where it goes is shown, and on a terminal you are asked, unless --yes
is given. After that perstack checks that the log of the registry has it.

--dry-run does everything but publish, and prints the definition. Without a key or
without the network it does the checks on this machine, says which part is missing, and
exits with 0 if they passed; with --json, registryCheck says the same.

--private makes a new Expert one that only your organization can read, with a key. What
is private and what is not cannot be changed later. --readme adds a file for readers.

Delegates must be published before the Expert that delegates to them. --sign adds your
signature, so that users can require it; perstack keys lists the keys that can sign.

--to oci://host/repository:tag publishes to a container registry instead. It has no log:
docs/oci.md says what is proved there. Without a tag, the tag is the version.

The key comes from PERSTACK_API_KEY, for the default registry, or from perstack login.
docs/publish.md says more.

Exit codes: 0 published, passed, or cancelled; 1 refused by the registry, it could not be
reached, or its log does not prove the publication; 2 a problem of perstack.toml, wrong
usage or no key. Nothing was published with 2.`,
		Example: `  perstack publish researcher --dry-run
  perstack publish @acme/researcher
  perstack publish @acme/researcher --sign --readme README.md
  perstack publish @acme/researcher --sign=~/.ssh/release_ed25519 --tag next --yes
  perstack publish @acme/researcher --to oci://registry.example/acme/researcher
  perstack publish @acme/researcher --json`,
		Args: host.AtMost(1, func(args []string) error {
			return host.Usagef("publish takes one expert, but got %d arguments", len(args))
		}),
		ValidArgsFunction: complete.Expert(h, &opts.Flags.Config),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			if len(args) > 0 {
				opts.Expert = args[0]
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.Flags.Add(h, cmd)
	h.AddYes(cmd, "publish without a question")
	cmd.Flags().BoolVar(&opts.DryRun, "dry-run", false, "check everything and print the definition, but do not publish")
	cmd.Flags().StringVar(&opts.Sign, "sign", "", "sign with an SSH key: its path or fingerprint, after =, or the only one that you have")
	cmd.Flags().Lookup("sign").NoOptDefVal = anyKey
	cmd.Flags().StringArrayVar(&opts.Tags, "tag", nil, "tag of the new version, beside latest; can be repeated")
	cmd.Flags().BoolVar(&opts.Private, "private", false, "let only your organization see the Expert, if it is new")
	cmd.Flags().StringVar(&opts.Readme, "readme", "", "file in Markdown that the page of the Expert shows")
	cmd.Flags().StringVar(&opts.License, "license", "", "license of the Expert, such as MIT")
	cmd.Flags().StringVar(&opts.Repository, "repository", "", "address of the source")
	cmd.Flags().StringVar(&opts.To, "to", "", "publish to this container registry: oci://host/repository, and :tag")
	for _, flag := range []string{"tag", "to", "license", "repository"} {
		if err := cmd.RegisterFlagCompletionFunc(flag, cobra.NoFileCompletions); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

func (o *Options) run(ctx context.Context) (err error) {
	if err := published.CheckTags(o.Tags); err != nil {
		return err
	}
	if err := o.checkTo(); err != nil {
		return err
	}
	s, err := published.Open(ctx, o.Host, o.Flags.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	e, err := o.choose(ctx, s)
	if e == nil || err != nil {
		return err
	}
	about, err := o.about()
	if err != nil {
		return err
	}
	p, err := propose(s.Config, e, about)
	if err != nil {
		return err
	}
	if o.To != "" {
		return o.toContainers(ctx, s, p)
	}
	if at := slices.IndexFunc(p.definition.Delegates, expert.IsOCI); at >= 0 {
		return host.Usagef("delegate %q is in a container registry; publish %s there too, with --to, or delegate to an Expert of its registry", p.definition.Delegates[at], e.Name)
	}
	if err := o.sign(ctx, p); err != nil {
		return err
	}
	if o.DryRun {
		return o.try(ctx, s, p)
	}
	r, err := s.Registry(ctx, e.Name)
	if err != nil {
		return err
	}
	if err := o.ask(ctx, r, p); err != nil {
		return err
	}
	if err := o.show(p, r.Client.URL()); err != nil {
		return err
	}
	if o.Host.CanConfirm() && !o.Host.Yes {
		yes, err := o.Host.Confirm(ctx, "perstack: publish %s to %s? It cannot be changed afterwards.", p.definition.Key(), terminal.CleanLine(r.Client.URL()))
		if err != nil {
			return err
		}
		if !yes {
			_, err := fmt.Fprintln(o.Host.Stdout, "Cancelled")
			return err
		}
	}
	return o.send(ctx, r, p)
}

// choose returns the Expert to publish; nil if the user left.
func (o *Options) choose(ctx context.Context, s *published.Session) (e *expert.Expert, err error) {
	if s.Config == nil {
		_, err := o.Host.Locate(o.Flags.Config) // which says that there is none
		return nil, err
	}
	all := s.Config.Experts
	switch {
	case len(all) == 0:
		return nil, host.Usagef("no experts defined in perstack.toml")
	case o.Expert != "":
		return host.FindExpert(s.Config, o.Expert)
	case len(all) == 1:
		return all[0], nil
	case o.Flags.JSON || !published.CanChoose(o.Host):
		return nil, host.Usagef("perstack.toml has several experts; name one: %s", strings.Join(s.Config.Keys(), ", "))
	}
	left, err := s.Screens(ctx, func(ctx context.Context, w *wizard.Wizard) (err error) {
		e, err = s.ChooseExpert(ctx, w, "Select an Expert to publish:")
		return err
	})
	if left || err != nil {
		return nil, err
	}
	return e, nil
}

// send publishes, and prints what others need to know.
func (o *Options) send(ctx context.Context, r *published.Registry, p *proposal) error {
	done, err := r.Client.Publish(ctx, o.request(p))
	switch client.KindOf(err) {
	case "":
	case client.Network, client.Timeout:
		return fmt.Errorf("%w; it is not known whether %s was published: try again, a version that exists is refused", err, p.definition.Key())
	default:
		return r.Explain(err)
	}
	if err != nil {
		return err
	}
	warnings := []string{}
	if err := r.Bind(ctx); err != nil { // the Expert is published, whatever this machine can record
		warning := done.Key + " is published, but the registry of its scope was not recorded on this machine: " + host.Describe(err)
		warnings = append(warnings, warning)
		fmt.Fprintln(o.Host.Stderr, "perstack: warning: "+terminal.CleanLine(warning))
	}
	command := o.Host.Command + " run " + terminal.ShellJoin(done.Key) + ` "…"`
	if o.Flags.JSON {
		return host.WriteJSON(o.Host.Stdout, struct {
			Key        string   `json:"key"`
			Registry   string   `json:"registry"`
			Digest     string   `json:"digest"`
			LogIndex   int64    `json:"logIndex"`
			Signer     string   `json:"signer,omitzero"`
			Tags       []string `json:"tags"`
			Advisories []string `json:"advisories"`
			Warnings   []string `json:"warnings"`
			Command    string   `json:"command"`
		}{done.Key, r.Client.URL(), done.Digest, done.Index, done.Signer, append([]string{}, o.Tags...), p.advisories, warnings, command})
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Published %s\n  Registry: %s\n  Digest: %s\n  Log entry: %d\n", done.Key, r.Client.URL(), done.Digest, done.Index)
	if done.Signer != "" {
		fmt.Fprintf(&text, "  Signed by: %s\n", done.Signer)
	}
	if len(o.Tags) > 0 {
		fmt.Fprintf(&text, "  Tags: %s\n", strings.Join(o.Tags, ", "))
	}
	fmt.Fprintf(&text, "  Run it: %s\n", command)
	_, err = fmt.Fprint(o.Host.Plain(o.Host.Stdout), text.String())
	return err
}

// request is what is sent.
func (o *Options) request(p *proposal) api.Publish {
	asked := api.Publish{Content: p.text, Signature: p.signature, Tags: o.Tags}
	if o.Private {
		asked.Visibility = api.Private
	}
	return asked
}

// maxReadme bounds the file for the page of an Expert, which is a part of its definition.
const maxReadme = 256 << 10

// about returns what flags say about the Expert, for its readers.
func (o *Options) about() (about definition.Extensions, err error) {
	about.License, about.Repository = o.License, o.Repository
	if o.Readme == "" {
		return about, nil
	}
	text, err := userfile.Read(o.Host.Path(o.Readme), maxReadme)
	if err != nil {
		return about, host.Usagef("--readme: %w", err)
	}
	about.Readme = string(text)
	return about, nil
}

// show prints what is about to be published, for people.
func (o *Options) show(p *proposal, registry string) error {
	if o.Flags.JSON {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s, for %s\n", p.definition.Key(), terminal.CleanLine(registry))
	fmt.Fprintf(&text, "  %s\n", terminal.CleanLine(p.definition.Description))
	if p.signer != "" {
		fmt.Fprintf(&text, "Signed by %s\n", p.signer)
	}
	text.WriteString(published.Abilities(p.card))
	if len(p.advisories) > 0 {
		fmt.Fprintf(&text, "%s for its users:\n", wording.Count(len(p.advisories), "note"))
	}
	for _, a := range p.advisories {
		fmt.Fprintf(&text, "  %s\n", terminal.RevealLine(a))
	}
	_, err := fmt.Fprint(o.Host.Stderr, text.String())
	return err
}
