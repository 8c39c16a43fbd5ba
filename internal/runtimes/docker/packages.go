package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/job"
)

// A footing is what the container of a job stands on, before the daemon is asked for it.
type footing struct {
	image    string // name, or empty for nothing
	pinned   string // the same by its content; empty for an image of the user's that is not fetched
	packages []*lockfile.Package
	squid    string // image of the proxy by its content; empty if it is ours
}

// footing finds everything that is wrong with it: packages that are not pinned, an image
// that is not, and skills that no one image can run.
func (r *runner) footing() (f footing, err error) {
	if f.packages, err = r.packages(); err != nil {
		return f, err
	}
	if r.container().Proxy == job.ProxySquid {
		if f.squid, err = r.pinOf("squidImage", r.container().SquidImage); err != nil {
			return f, err
		}
	}
	uses := func(manager string) bool {
		return slices.ContainsFunc(f.packages, func(p *lockfile.Package) bool { return p.Manager == manager })
	}
	key, name := "nodeImage", r.container().NodeImage
	switch {
	case r.container().BaseImage != "" || len(f.packages) == 0:
		f.image = r.container().BaseImage
		return f, nil
	case uses("npx") && uses("uvx"):
		return f, errors.New("skills are packages of npx and of uvx, and one container cannot be made from both nodeImage and pythonImage; name an image with Node and Python: baseImage in [docker]")
	case uses("uvx"):
		key, name = "pythonImage", r.container().PythonImage
	}
	f.image = name
	f.pinned, err = r.pinOf(key, name)
	return f, err
}

// packages are those that skills of the job are started from, each once, as the lockfile
// has pinned them.
func (r *runner) packages() (all []*lockfile.Package, err error) {
	seen := make(map[packages.Pin]bool)
	for _, e := range r.spec.Experts {
		for _, k := range e.Skills {
			if _, ok := k.Package(); !ok {
				continue
			}
			fail := func(err error) ([]*lockfile.Package, error) {
				return nil, fmt.Errorf("skill %q of %q: %w", k.Name, e.Key, err)
			}
			// Without a lock both are nil, and have nothing.
			locked, _ := r.lock.Expert(e.Key)
			pinned, _ := locked.Skill(k.Name)
			if pinned == nil || pinned.Package == nil || !pinned.Holds(k) {
				return fail(&PinError{Err: errors.New("its package is not pinned in the lockfile, and only pinned packages go into an image")})
			}
			pin, err := packages.PinOf(pinned.Package)
			if err != nil {
				return fail(err)
			}
			if !seen[pin] {
				seen[pin] = true
				all = append(all, pinned.Package)
			}
		}
	}
	return all, nil
}

// pinOf says by its content which image a setting names: as the file does, or else as the
// lockfile does.
func (r *runner) pinOf(key, name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("no image is named for it; name one in [docker] with %s", key)
	}
	want, err := parseReference(name)
	if err == nil {
		_, err = want.places(r.sources()) // a mirror that is none shows now
	}
	if err != nil {
		return "", fmt.Errorf("%s in [docker]: %w", key, err)
	}
	pinned, ok := r.lock.Image(name)
	if !ok {
		return "", &PinError{Err: fmt.Errorf("the image %s (%s in [docker]) is not pinned, so its content can change; write its digest after the name, like %s@sha256:…, or pin it in the lockfile", name, key, name)}
	}
	got, err := parsePinned(pinned)
	// A lockfile must not select another image than the one that perstack.toml names.
	if err == nil && got.id == "" && (got.name != want.name || got.tag != "" && got.tag != want.tag) {
		err = fmt.Errorf("it is pinned to %s, which is another", pinned)
	}
	if err != nil {
		return "", &PinError{Err: fmt.Errorf("the image %s (%s in [docker]): %w", name, key, err)}
	}
	return pinned, nil
}

func (r *runner) usesPackages() bool {
	return slices.ContainsFunc(r.spec.Experts, func(e *expert.Expert) bool {
		return slices.ContainsFunc(e.Skills, func(k *expert.Skill) bool { _, ok := k.Package(); return ok })
	})
}

func (r *runner) sources() Sources {
	return Sources{Mirrors: r.container().Mirrors, Offline: r.container().Offline}
}

func (r *runner) image(ctx context.Context, d *Daemon, spec ImageSpec, f footing, report func(event.Body)) (id string, err error) {
	spec.Base = f.image
	if f.pinned != "" {
		spec.BaseName = f.image
		if spec.Base, err = r.obtain(ctx, d, f.image, f.pinned, report); err != nil {
			return "", err
		}
	}
	commands := sandbox.NewSupervisor() // it starts nothing until npm is needed
	defer func() { err = errors.Join(err, commands.Close()) }()
	store := &packages.Store{Dir: r.parts.CacheDir, Commands: commands, Environ: r.parts.Environ, Hosts: r.parts.PackageHosts, Offline: r.container().Offline}
	for _, p := range f.packages {
		pin, err := packages.PinOf(p)
		if err != nil {
			return "", err
		}
		spec.Sets = append(spec.Sets, PackageSet{
			Name:    expert.Package{Name: p.Name, Version: p.Version}.Spec(),
			Pin:     pin,
			Program: cmp.Or(map[string]string{"uvx": "python3"}[p.Manager], "node"),
			Fetch: func(ctx context.Context, on packages.Platform, note func(string)) (packages.Installed, error) {
				return store.Fetch(ctx, p, on, note)
			},
		})
	}
	return d.Image(ctx, spec, report)
}

// obtain returns the id of an image that the file names. A lockfile may come from another
// machine, whose daemon had an image that no registry has.
func (r *runner) obtain(ctx context.Context, d *Daemon, name, pinned string, report func(event.Body)) (string, error) {
	id, err := d.obtain(ctx, pinned, r.sources(), report)
	var absent *absentError
	if errors.As(err, &absent) && name != pinned {
		err = &PinError{Stale: true, Err: fmt.Errorf("the lockfile pins the image %s to the id %s, which this daemon does not have; load that image, or pin the image that is here", name, absent.id)}
	}
	return id, err
}

// squid makes the image of the proxy: the user's image of Squid with our program on top,
// which starts it.
func (r *runner) squid(ctx context.Context, d *Daemon, parts ImageSpec, f footing, report func(event.Body)) (string, error) {
	base, err := r.obtain(ctx, d, r.container().SquidImage, f.squid, report)
	if err != nil {
		return "", fmt.Errorf("squidImage: %w", err)
	}
	id, err := d.Image(ctx, ImageSpec{Binary: parts.Binary, Roots: parts.Roots, Base: base}, report)
	if err != nil {
		return "", fmt.Errorf("squidImage: %w", err)
	}
	return id, nil
}
