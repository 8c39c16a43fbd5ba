package registry

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

type auditOptions struct {
	host     *host.Host
	registry string // name or address; empty for the default one
	scope    string
	json     bool
}

// newAudit returns the command. Tests hand in a runF to see the options.
func newAudit(h *host.Host, runF func(context.Context, *auditOptions) error) *cobra.Command {
	opts := &auditOptions{host: h}
	if runF == nil {
		runF = runAudit
	}
	cmd := &cobra.Command{
		Use:   "audit [registry]",
		Short: "Follow the whole log of a registry, and check it",
		Long: `Read every entry of the transparency log of a registry, without an API key, as anybody
can. The command computes the hash of the log from the entries, and compares it with what
the registry has signed and with what this machine saw before. It reports entries that
contradict each other: a version that was published twice, a tag that was moved from
elsewhere, a delegate that does not exist. If your configuration names witnesses of the
registry, the command lists who has cosigned the log, and when.

With --scope, it lists everything that happened to the Experts of a scope or to one Expert.
Run it regularly, to learn of publications in your name that are not yours.

The exit code is 1 if the log has a problem or cannot be verified.`,
		Example: `  perstack registry audit
  perstack registry audit https://registry.example.com
  perstack registry audit acme --scope @acme
  perstack registry audit acme --scope @acme/researcher --json`,
		Args: host.AtMost(1, func([]string) error {
			return host.Usagef("audit takes one registry: its name in your configuration, or its address")
		}),
		ValidArgsFunction: h.CompleteRegistry,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := host.RefuseEmpty(cmd.Flags()); err != nil {
				return err
			}
			if len(args) > 0 {
				opts.registry = args[0]
			}
			return runF(cmd.Context(), opts)
		},
	}
	cmd.Flags().StringVar(&opts.scope, "scope", "", "list what happened to the Experts of a scope like @acme, or to one Expert")
	h.JSONErrors(cmd, &opts.json)
	if err := cmd.RegisterFlagCompletionFunc("scope", cobra.NoFileCompletions); err != nil {
		panic(err) // the flag is defined above
	}
	return cmd
}

// isSubject reports whether a text is a scope, or the name of an Expert. Other commands do not pay for the
// pattern.
func isSubject(text string) bool {
	return regexp.MustCompile(`^(@[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)?|[a-z0-9][a-z0-9_-]*)$`).MatchString(text)
}

// An entry is one of the log, for programs.
type entry struct {
	Index   int64     `json:"logIndex"`
	Kind    string    `json:"kind"`
	Name    string    `json:"name,omitzero"`
	Version string    `json:"version,omitzero"`
	Digest  string    `json:"digest,omitzero"`
	Tag     string    `json:"tag,omitzero"`
	Old     string    `json:"old,omitzero"`
	New     string    `json:"new,omitzero"`
	Reason  string    `json:"reason,omitzero"`
	Org     string    `json:"organization,omitzero"`
	Actor   string    `json:"actor,omitzero"`
	Time    time.Time `json:"time,omitzero"`
}

type problem struct {
	Index   int64  `json:"logIndex"`
	Message string `json:"message"`
}

type cosignature struct {
	Witness string    `json:"witness"`
	Time    time.Time `json:"time"`
}

type result struct {
	Registry string `json:"registry"`
	Origin   string `json:"origin"`
	Size     int64  `json:"size"`
	Root     string `json:"root"`
	// Cosignatures are those of the user's witnesses.
	Cosignatures []cosignature `json:"cosignatures,omitempty"`
	OK           bool          `json:"ok"`
	Problems     []problem     `json:"problems"`
	Scope        string        `json:"scope,omitzero"`
	Entries      []entry       `json:"entries,omitempty"` // about the scope
}

func runAudit(ctx context.Context, opts *auditOptions) error {
	h := opts.host
	if opts.scope != "" && !isSubject(opts.scope) {
		return host.Usagef("%s is neither a scope like @acme nor the name of an Expert like @acme/researcher", terminal.Quote(opts.scope))
	}
	r, err := h.OwnRegistries()
	if err != nil {
		return err
	}
	d, err := r.ChooseRegistry(opts.registry)
	if err != nil {
		return err
	}
	c, err := r.WithKey(d, "") // anybody can read a log
	if err != nil {
		return h.RegistryError(d, err)
	}
	h.Asking(d)
	report, err := c.Audit(ctx, opts.scope, opts.progress())
	if err != nil {
		return h.RegistryError(d, err)
	}
	if opts.json {
		err = host.WriteJSON(h.Stdout, newResult(c.URL(), opts.scope, report))
	} else {
		_, err = fmt.Fprint(h.Stdout, describe(c.URL(), opts.scope, report))
	}
	if err == nil && len(report.Problems) > 0 {
		err = host.Exit(host.ExitFailure) // the report has said what
	}
	return err
}

// progress tells a user at a terminal how much of a long log was read, once a second at most.
func (o *auditOptions) progress() func(read, size int64) {
	h := o.host
	if !h.StderrIsTerminal {
		return nil
	}
	last := h.Source.Now()
	return func(read, size int64) {
		now := h.Source.Now()
		if now.Sub(last) < time.Second || read == size {
			return
		}
		last = now
		fmt.Fprintf(h.Stderr, "perstack: %d of %d log entries read\n", read, size)
	}
}

func newResult(address, scope string, a *client.Audit) result {
	made := result{Registry: address, Origin: a.Origin, Size: a.Size, Root: a.Root, OK: len(a.Problems) == 0, Problems: []problem{}, Scope: scope}
	for _, one := range a.Cosignatures {
		made.Cosignatures = append(made.Cosignatures, cosignature(one))
	}
	for _, p := range a.Problems {
		made.Problems = append(made.Problems, problem(p))
	}
	for _, t := range a.Touching {
		l := t.Leaf
		made.Entries = append(made.Entries, entry{t.Index, string(l.Kind), l.Name, l.Version, l.Digest, l.Tag, l.Old, l.New, l.Reason, l.Org, l.Actor, l.Time})
	}
	return made
}

// describe writes the report for people.
func describe(address, scope string, a *client.Audit) string {
	out := &strings.Builder{}
	fmt.Fprintf(out, "%s\n  log      %s\n  entries  %d\n  root     %s\n", terminal.CleanLine(address), terminal.RevealLine(a.Origin), a.Size, terminal.CleanLine(a.Root))
	for _, one := range a.Cosignatures {
		fmt.Fprintf(out, "  cosigned by %s  %s\n", terminal.RevealLine(one.Witness), one.Time.UTC().Format("2006-01-02 15:04:05"))
	}
	if scope != "" {
		fmt.Fprintf(out, "\nEntries about %s: %d\n", scope, len(a.Touching))
		for _, t := range a.Touching {
			l := t.Leaf
			fmt.Fprintf(out, "  %6d  %s  %s\n", t.Index, l.Time.UTC().Format("2006-01-02 15:04"), terminal.RevealLine(what(&t)))
		}
	}
	if len(a.Problems) == 0 {
		fmt.Fprintln(out, "\nThe log is what the registry has signed, it only grew, and no entry contradicts another.")
		return out.String()
	}
	fmt.Fprintf(out, "\nFound %s\n", wording.Count(len(a.Problems), "problem"))
	for _, p := range a.Problems {
		fmt.Fprintf(out, "  entry %d: %s\n", p.Index, terminal.CleanLine(p.Message))
	}
	return out.String()
}

// what says in a line what happened.
func what(t *client.AuditLeaf) string {
	l := t.Leaf
	words := []string{string(l.Kind)}
	add := func(name, value string) {
		if value != "" {
			words = append(words, strings.TrimSpace(name+" "+value))
		}
	}
	switch {
	case l.Version != "":
		add("", l.Name+"@"+l.Version)
	default:
		add("", l.Name)
	}
	add("", l.Org)
	add("tag", l.Tag)
	add("from", l.Old)
	add("to", l.New)
	add("because", l.Reason)
	add("by", l.Actor)
	add("", l.Digest)
	return strings.Join(words, " ")
}
