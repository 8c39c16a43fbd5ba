package perstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/attachment"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/secret"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/job"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/store"
	"github.com/perstack-go/perstack/store/memory"
)

// Load makes a Spec from a perstack.toml and the perstack.lock beside it: the Expert with
// that key, the Experts it can delegate to, and the settings of the file. The workspace is
// the directory of the file. Env files are not read; hand variables in with
// [engine.Parts].Variables.
func Load(path, expertKey, query string) (job.Spec, error) {
	config, problems, err := manifest.Load(path)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return job.Spec{}, err
	}
	e, ok := config.Lookup(expertKey)
	if !ok {
		return job.Spec{}, fmt.Errorf("expert %q not found in %s", expertKey, path)
	}
	spec := config.Spec(e)
	spec.Input.Query = query
	spec.Workspace.Dir = config.Dir
	lock, err := lockfile.Read(config)
	if err != nil || lock == nil {
		return spec, err
	}
	spec.Lock, spec.LockPath = string(lock.Encode()), lock.Path
	return spec, lock.Stale(config, e).Err()
}

// Attach adds a file to the query of a Spec: an image (PNG, JPEG, GIF or WebP), a PDF or UTF-8 text,
// which its content says and not its name. The model is told the name. A Spec holds at most
// [job.MaxAttachments] of [job.MaxAttachmentBytes] each.
func Attach(spec *job.Spec, parts *Parts, name string, data []byte) error {
	f, err := attachment.New(name, data)
	if err != nil {
		return err
	}
	if parts.Attachments == nil {
		parts.Attachments = make(map[string][]byte)
	}
	spec.Input.Attachments = append(spec.Input.Attachments, f.Info)
	parts.Attachments[f.Info.Digest] = f.Data
	return nil
}

// Secrets returns a set that hides these values by their names: what tools and providers
// say is recorded, yielded and shown to the model without them. Values of fewer than 8
// characters are too short to be told from ordinary text, and are not hidden.
func Secrets(values map[string]string) engine.Secrets {
	set := new(secret.Set)
	for name, value := range values {
		set.Add(name, value)
	}
	return set
}

// seal makes the store seal its records, if there is a key.
func seal(spec *job.Spec, parts *Parts) error {
	if parts.Container != nil {
		return nil // the host has the journal
	}
	if spec.Unsealed = parts.Seal == nil; spec.Unsealed {
		return nil
	}
	sealing, ok := parts.Store.(store.Sealing)
	if !ok {
		return errors.New("the store cannot seal records; leave Parts.Seal out, or use another store")
	}
	sealer := parts.Seal
	if spec.Input.TrustHistory {
		sealer = sealer.Trusting()
	}
	parts.Store = sealing.WithSeal(sealer)
	return nil
}

// complete fills in what Spec and parts leave out, and checks the Spec.
func complete(ctx context.Context, spec job.Spec, parts Parts) (job.Spec, Parts, error) {
	if parts.Source == nil {
		parts.Source = engine.SystemSource()
	}
	spec.JobID = cmp.Or(spec.JobID, parts.Source.NewID())
	spec.Version = cmp.Or(spec.Version, version.String())
	if parts.Store == nil {
		parts.Store = memory.New()
	}
	if err := seal(&spec, &parts); err != nil {
		return spec, parts, err
	}
	provider, name := spec.Provider, spec.Model
	spec, err := resolve(ctx, spec, &parts)
	if err != nil {
		return spec, parts, err
	}
	if parts.Model != nil {
		spec.Provider, spec.Model = provider, name // the program's own model is not the default one
	}
	if err := spec.Check(); err != nil {
		return spec, parts, err
	}
	if err := manifest.RefusedEnv(&spec).Err(); err != nil {
		return spec, parts, err
	}
	if parts.Secrets == nil {
		parts.Secrets = new(secret.Set)
	}
	if parts.Log == nil {
		parts.Log = slog.New(slog.DiscardHandler)
	}
	if parts.Environ == nil {
		parts.Environ = os.Environ()
	}
	if parts.Variables == nil {
		environ := parts.Environ
		parts.Variables = func(name string) Variable {
			for _, v := range environ {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return Variable{Value: value}
				}
			}
			return Variable{}
		}
	}
	if unpriced := spec.Unpriced(model.PriceOf); len(unpriced) > 0 {
		return spec, parts, fmt.Errorf("the cost is limited, but what the model %q costs is not known; add it to Spec.Prices", unpriced[0])
	}
	return spec, parts, nil
}

// resolve completes the settings of a Spec. For a job that is continued, they depend on what it
// recorded.
func resolve(ctx context.Context, spec job.Spec, parts *Parts) (job.Spec, error) {
	if !spec.Input.Continue || spec.Input.Relax {
		spec.Complete(providers.Catalogue{})
		return spec, nil
	}
	spec.Input.Relax = true // once is enough: a container must not resolve it again
	if parts.History == nil {
		history, err := engine.Load(ctx, parts.Store, spec.JobID)
		if errors.Is(err, store.ErrNotFound) {
			return spec, &engine.JobError{Problem: engine.JobNotFound, JobID: spec.JobID}
		}
		if err != nil {
			return spec, engine.StoreError(err)
		}
		parts.History = history
	}
	recorded, err := parts.History.Recorded(spec.Input.From)
	if err == nil {
		err = spec.Resume(recorded, providers.Catalogue{})
	}
	return spec, err
}
