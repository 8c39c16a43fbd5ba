package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/registry/card"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/resolve"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
)

// A Fetch says which published Experts a command needs.
type Fetch struct {
	Config    *manifest.Config
	Workspace string
	Keys      []string        // [manifest.Config.Missing]
	Named     string          // the key that the user named, and no file; empty if there is none
	Lock      *lockfile.Lock  // whose pins count; nil if there is none
	Recorded  []job.Published // of the job that is continued; they are stronger than the lock
	Update    bool            // only pins of exact versions count
	Only      []string        // keys that Update is about; all if it is empty
	// Offline makes no request. Experts that need one are left out.
	Offline bool
}

// Published are published Experts. The user has to allow them before they are used.
type Published struct {
	*resolve.Found
	Requests   []consent.Published
	Registries []consent.Registry // of delegates, that only the project names

	registries *Registries
	pins       resolve.File
}

// Fetch resolves published Experts, and adds them to the configuration. What is pinned and was verified on
// this machine needs no request. It says what it resolved. If there are no keys, it opens nothing.
func (h *Host) Fetch(ctx context.Context, f Fetch) (_ *Published, err error) {
	if len(f.Keys) == 0 {
		return &Published{Found: &resolve.Found{}}, nil
	}
	p := &Published{}
	if p.registries, err = h.Registries(f.Config, f.Workspace); err != nil {
		return nil, err
	}
	p.registries.typed = f.Named
	if p.pins, err = h.pins(f.Config.Dir, f.Workspace); err != nil {
		return nil, err
	}
	known, err := p.pins.Load()
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	commands := sandbox.NewSupervisor()
	defer func() { err = errors.Join(err, commands.Close()) }()
	resolver := resolve.Resolver{
		Decide: p.registries.For, Now: func() time.Time { return h.Source.Now() },
		Stored: p.registries.stored,
		Connect: func(ctx context.Context, d scopes.Decision) (resolve.Source, error) {
			if expert.IsOCI(d.Registry.URL) {
				return p.registries.Containers(commands) // whose errors say where to log in
			}
			c, err := p.registries.Client(ctx, d, commands)
			return explained{c, h, d}, h.RegistryError(d, err)
		},
		Before: func(ctx context.Context, keys []string) error {
			asked, err := p.registries.Asked(keys)
			if err != nil || len(asked) == 0 {
				return err
			}
			q := Question{Host: h, Project: consent.Project{Config: f.Config, Registries: asked}, Workspace: f.Workspace}
			return q.Registries(ctx)
		},
	}
	pins := f.known(known)
	if f.Offline {
		f.Keys = slices.DeleteFunc(slices.Clone(f.Keys), func(key string) bool { return !resolver.Knows(ctx, key, pins) })
	}
	if p.Found, err = resolver.Resolve(ctx, f.Keys, pins); err != nil {
		return nil, explainFetch(err)
	}
	if err := f.Config.Add(p.Keys(), p.Experts()...); err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	h.tellPublished(p.Found)
	if err := p.ask(ctx, known); err != nil {
		return nil, err
	}
	return p, nil
}

// pins is the file with the pins of a project; without a path if there is no place for one.
func (h *Host) pins(project, workspace string) (resolve.File, error) {
	dir, err := h.StateDir()
	if err != nil {
		return resolve.File{}, nil
	}
	p, err := dir.Project(project)
	if err != nil {
		return resolve.File{}, &ExitError{Code: ExitUsage, Err: err}
	}
	if h.planted(p.State, project, workspace) != nil {
		return resolve.File{}, nil // a job could change it, so nothing is remembered
	}
	return resolve.File{Path: filepath.Join(p.State, resolve.FileName)}, nil
}

// Pins returns what counts for published Experts of a project, by key: the pins of its lockfile, else those
// of earlier runs.
func (h *Host) Pins(config *manifest.Config, workspace string, lock *lockfile.Lock) (map[string]resolve.Pin, error) {
	file, err := h.pins(config.Dir, workspace)
	if err != nil {
		return nil, err
	}
	earlier, err := file.Load()
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	return Fetch{Keys: config.Missing(), Lock: lock}.known(earlier), nil
}

// known returns the pins that count: those of the job, else of the lockfile, else of earlier runs.
func (f Fetch) known(earlier map[string]resolve.Pin) map[string]resolve.Pin {
	pins := map[string]resolve.Pin{}
	for _, key := range f.Keys {
		k, err := expert.ParseReference(key)
		if err != nil || f.Update && k.Version == "" && (len(f.Only) == 0 || slices.Contains(f.Only, key)) {
			continue
		}
		if p, ok := earlier[key]; ok {
			pins[key] = p
		}
		if e, ok := f.Lock.Published(key); ok {
			pins[key] = resolve.Pin{Exact: e.Key, Digest: e.Published.Digest, Registry: e.Published.Registry}
		}
		for _, r := range f.Recorded {
			if r.Key == key || r.Exact == key {
				pins[key] = resolve.Pin{Exact: r.Exact, Digest: r.Digest, Registry: r.Registry}
			}
		}
	}
	return pins
}

// Say prints a line for the user.
func (h *Host) Say(format string, args ...any) {
	fmt.Fprintln(h.Stderr, "perstack: "+terminal.CleanLine(fmt.Sprintf(format, args...)))
}

// ProviderByKey returns the first provider whose key is in the environment, and the variable. Providers
// that need more than a key are not considered.
func (h *Host) ProviderByKey() (name, variable string) {
	for _, name := range []string{"anthropic", "openai", "google", "deepseek"} {
		for _, variable := range model.KeyEnv(name) {
			if h.Getenv(variable) != "" {
				return name, variable
			}
		}
	}
	return "", ""
}

// tellPublished says what keys mean that had no pin, and which Experts their owners advise against.
func (h *Host) tellPublished(found *resolve.Found) {
	for i := range found.Roots {
		if r := &found.Roots[i]; r.Fresh {
			what := "verified " + r.Pin.Exact
			if !r.Pinned {
				what = r.Key + " is " + r.Pin.Exact
			}
			h.Say("%s, %s of %s, %s", what, shortDigest(r.Pin.Digest), r.Pin.Registry, origin(r.Expert()))
		}
	}
	h.TellDiscouraged(found)
}

// TellDiscouraged says which Experts their owners advise against.
func (h *Host) TellDiscouraged(found *resolve.Found) {
	for _, e := range found.Discouraged() {
		text := e.Key + " is " + e.Status
		if e.Message != "" {
			text += ": " + e.Message
		}
		if e.ReplacedBy != "" {
			text += "; its owner recommends " + e.ReplacedBy
		}
		h.Say("%s", text)
	}
}

// shortDigest is enough of a digest to compare two by eye.
func shortDigest(digest string) string { return digest[:min(len(digest), len("sha256:")+12)] }

// origin says what proves an Expert.
func origin(e *client.Expert) string {
	if expert.IsOCI(e.Key) {
		return containerOrigin(e)
	}
	if e.Unverified {
		return "which has no log that proves it"
	}
	text := fmt.Sprintf("entry %d of its log, not signed", e.Index)
	if e.Signer != "" {
		text = fmt.Sprintf("entry %d of its log, signed by %s", e.Index, e.Signer)
	}
	return text
}

// ask makes the requests. earlier are the pins that the project used until now.
func (p *Published) ask(ctx context.Context, earlier map[string]resolve.Pin) error {
	for i := range p.Roots {
		r := &p.Roots[i]
		one := consent.Published{Newer: r.Newer, Key: r.Pin.Exact, Registry: r.Pin.Registry, Origin: shortDigest(r.Pin.Digest) + ", " + origin(r.Expert()), Card: card.Lines(r.Card.Abilities)}
		for _, e := range r.Closure {
			one.Digests = append(one.Digests, e.Key+" "+e.Digest)
		}
		if before, ok := p.before(ctx, r, earlier); ok {
			one.Before = before.Expert
			gained, lost := card.Compare(before, r.Card)
			one.Card = nil
			for _, line := range card.Lines(gained) {
				one.Card = append(one.Card, "+ "+line)
			}
			for _, line := range card.Lines(lost) {
				one.Card = append(one.Card, "- "+line)
			}
		}
		p.Requests = append(p.Requests, one)
	}
	var err error
	p.Registries, err = p.registries.Asked(slices.Sorted(maps.Keys(p.Decisions)))
	return err
}

// before is the card of the version of an Expert that the project used until now. If this machine does
// not have it any more, the user sees the whole new card.
func (p *Published) before(ctx context.Context, r *resolve.Root, earlier map[string]resolve.Pin) (card.Card, bool) {
	pin, ok := earlier[r.Key]
	name := r.Expert().Expert.Name
	for _, key := range slices.Sorted(maps.Keys(earlier)) {
		if k, err := expert.ParseReference(key); !ok && err == nil && k.Name == name {
			pin, ok = earlier[key], true
		}
	}
	if !ok || pin.Digest == r.Pin.Digest || pin.Registry != r.Pin.Registry {
		return card.Card{}, false
	}
	d, err := p.registries.For(r.Key)
	if err != nil {
		return card.Card{}, false
	}
	stored, err := p.registries.stored(d)
	if err != nil {
		return card.Card{}, false
	}
	old, err := resolve.Card(ctx, stored, pin)
	return old, err == nil
}

// Keep records what was used, after the user has allowed it: which registry each scope has, and what each
// key means in the project.
func (p *Published) Keep(ctx context.Context) error {
	if p == nil || p.registries == nil {
		return nil
	}
	for i := range p.Roots {
		// What they delegate to can be of any scope: the user and the project named the roots only.
		r := &p.Roots[i]
		d, asked := p.Decisions[r.Pin.Exact]
		if !asked {
			continue
		}
		head, err := p.registries.Trust.Log(d.Registry.URL).Head()
		if err == nil {
			err = p.registries.Bound.Bind(ctx, d, head.Key, head.HadKey)
		}
		if err != nil {
			return err
		}
	}
	pins := map[string]resolve.Pin{}
	for _, r := range p.Roots {
		pins[r.Key] = r.Pin
	}
	return p.pins.Add(ctx, pins)
}

// Recorded returns what a job records.
func (p *Published) Recorded() (all []job.Published) {
	if p == nil || p.Found == nil {
		return nil
	}
	for _, r := range p.Roots {
		all = append(all, job.Published{Key: r.Key, Exact: r.Pin.Exact, Digest: r.Pin.Digest, Registry: r.Pin.Registry})
	}
	return all
}

// Locked returns what a lockfile pins, by exact key.
func (p *Published) Locked() map[string]*lockfile.Published {
	all := map[string]*lockfile.Published{}
	for _, e := range p.All() {
		d, err := p.registries.For(e.Key)
		if err != nil {
			continue // it was resolved before
		}
		all[e.Key] = &lockfile.Published{Registry: d.Registry.URL, Digest: e.Digest, LeafIndex: e.Index, Capability: p.Card(e).Hash(), Signer: e.Signer}
	}
	for _, r := range p.Roots {
		if one := all[r.Pin.Exact]; one != nil {
			one.Requested = append(one.Requested, r.Key)
		}
	}
	return all
}

// explained is a registry whose errors say which command helps.
type explained struct {
	*client.Client
	host     *Host
	decision scopes.Decision
}

func (e explained) Resolve(ctx context.Context, keys ...string) (*client.Resolution, error) {
	found, err := e.Client.Resolve(ctx, keys...)
	return found, e.host.RegistryError(e.decision, err)
}

// explainFetch adds what the user can do.
func explainFetch(err error) error {
	switch {
	case resolve.IsUnknownPin(err):
		return Usagef("%w; connect to the network once", err)
	case client.KindOf(err) == client.NotFound && !strings.Contains(err.Error(), "; "):
		return Usagef("%w; check the name, and in which registry its scope is", err)
	}
	return err
}
