package install

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
)

// NewUpdate returns the command that pins newer versions of published Experts. Tests hand in a runF to see
// the options.
func NewUpdate(h *host.Host, runF func(context.Context, *Options) error) *cobra.Command {
	opts := &Options{Host: h, Experts: true}
	if runF == nil {
		runF = run
	}
	cmd := &cobra.Command{
		Use:   "update [key...]",
		Short: "Pin newer versions of published Experts in perstack.lock",
		Long: `Resolve the published Experts of perstack.toml again, and pin what they mean now in
perstack.lock: all of them, or those whose keys you name as the file has them. Keys with
an exact version stay as they are; change them in the file. perstack outdated lists what
would change.

You are asked about what a new version can do and the old one could not. Skills that did
not change are not started, and packages of other skills stay pinned; perstack install
--update renews these, too.

Exit codes are those of perstack install. perstack.lock is changed only if the code is 0.`,
		Example: `  perstack update
  perstack update @acme/reader
  perstack update --yes --json | jq -r '.experts[] | select(.before) | .exact'`,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			path, err := manifest.Locate(h.Dir, opts.Config)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			config, _, err := manifest.Load(path)
			if err != nil || config == nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return floating(config), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := h.RefuseInJob(cmd); err != nil {
				return err
			}
			opts.Keys = args
			if err := opts.checkFlags(cmd); err != nil {
				return err
			}
			return runF(cmd.Context(), opts)
		},
	}
	opts.addFlags(cmd)
	h.JSONErrors(cmd, &opts.JSON)
	return cmd
}

// A pinned is a published Expert that perstack.lock has, for programs.
type pinned struct {
	Key      string `json:"key"`             // as perstack.toml has it
	Exact    string `json:"exact"`           // what it means now
	Before   string `json:"before,omitzero"` // what it meant before
	Registry string `json:"registry"`
	Digest   string `json:"digest"`
	LogIndex int64  `json:"logIndex"`
	Signer   string `json:"signer,omitzero"`
}

// printUpdate prints what an update has pinned.
func (p *project) printUpdate(lock, old *lockfile.Lock) error {
	all := []pinned{}
	for _, r := range p.published.Roots {
		now, ok := lock.Published(r.Key)
		if !ok {
			continue
		}
		e := now.Published
		one := pinned{Key: r.Key, Exact: now.Key, Registry: e.Registry, Digest: e.Digest, LogIndex: e.LeafIndex, Signer: e.Signer}
		if before, ok := old.Published(r.Key); ok && before.Key != now.Key {
			one.Before = before.Key
		}
		all = append(all, one)
	}
	return host.WriteJSON(p.opts.Host.Stdout, struct {
		Lockfile string   `json:"lockfile"`
		Experts  []pinned `json:"experts"`
	}{lock.Path, all})
}

// floating are the keys of published Experts that can mean another version tomorrow.
func floating(config *manifest.Config) []string {
	return slices.DeleteFunc(config.Missing(), func(key string) bool {
		k, err := expert.ParseReference(key)
		return err != nil || k.Version != ""
	})
}

// checkKeys refuses keys that cannot be updated.
func (o *Options) checkKeys(config *manifest.Config) error {
	all := floating(config)
	for _, key := range o.Keys {
		if k, err := expert.ParseReference(key); err == nil && k.Version != "" {
			return host.Usagef("%s is an exact version; change it in %s", key, config.Name())
		}
		if !slices.Contains(all, key) {
			return host.Usagef("%s delegates to no published expert %s; it has: %s", config.Name(), key, cmp.Or(strings.Join(all, ", "), "none"))
		}
	}
	return nil
}
