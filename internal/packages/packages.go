// Package packages fetches the npm packages that skills run from. It resolves a package to
// a version with all its dependencies, records it with the integrity that npm states, and
// later installs exactly that: into a directory of its own, without lifecycle scripts, and
// never from the working directory. For images it does so for another platform than this
// machine, including packages of uv.
//
// It starts nothing but npm and uv, and these start nothing. It does not start what it
// installed. Files that changed since are not used (seal.go), but a program of the same user
// that no sandbox confines can also change what they are compared with. A skill gets a copy of
// its package, into which it can write (place.go).
//
// Start reading at [Store.Resolve], [Store.Place] and [Store.Fetch]; tree.go says what is
// pinned.
package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/lockfile"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/internal/wording"
)

// A Store keeps installed packages in a directory of the user, for all projects.
type Store struct {
	Dir      string // made when it is needed
	Commands *sandbox.Supervisor
	// Environ is the environment in which the user started perstack: it says where npm is,
	// and how it is configured. It must not contain variables from files of a project.
	Environ []string
	// Hosts are further hosts that npm and uv can reach, as host or host:port. Some registries
	// serve files from another host.
	Hosts []string
	// Fresh asks the registry again about packages that were resolved before: the version may
	// be exact, but its dependencies have versions of their own.
	Fresh bool
	// Sealed means that nothing is fetched, installed or changed: the directory is part of an
	// image. A missing package is an error.
	Sealed bool
	// Offline means that nothing is fetched or installed.
	Offline bool

	mu    sync.Mutex
	turns map[string]chan struct{} // by work; holds a value while it is done
	reach *egress.Reach            // of npm; nil until it is known
}

// Resolve asks the registry what a package is now, and returns it pinned. A version that
// was resolved before is not resolved again; of a tag, only which version it stands for is
// asked. Note is told what happens, for showing.
func (s *Store) Resolve(ctx context.Context, p expert.Package, note func(string)) (locked *lockfile.Package, err error) {
	want, err := requested(p)
	if err != nil {
		return nil, err
	}
	spec := p.Name + "@" + want
	defer wrap(&err, "npm package "+spec)
	if s.Sealed {
		return nil, errors.New("it is not pinned, and nothing is fetched where the image runs; " + lockfile.InstallAgain)
	}
	release, err := s.exclusively(ctx, "resolve "+spec)
	if err != nil {
		return nil, err
	}
	defer release()
	exact := p.Version != ""
	if exact && !s.Fresh {
		if known := s.known(p.Name, p.Version); known != nil {
			return known, nil
		}
	}
	tell(note, "fetching "+spec)
	dir, err := s.scratch(s.root())
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := writeManifest(dir, p.Name, want); err != nil {
		return nil, err
	}
	flags := []string{"--package-lock-only"}
	switch {
	case s.Fresh:
		flags = append(flags, "--prefer-online") // npm trusts its own cache for a while
	case !exact:
		version, err := s.current(ctx, dir, spec)
		if known := s.known(p.Name, version); err == nil && known != nil {
			return known, nil
		}
	}
	if _, err := s.npm(ctx, dir, "install", flags...); err != nil {
		return nil, err
	}
	text, err := userfile.Read(filepath.Join(dir, lockName), maxTree)
	if err != nil {
		return nil, fmt.Errorf("what npm resolved cannot be read: %w", err)
	}
	tree, err := fetchedTree(text, p.Name)
	if err != nil {
		return nil, err
	}
	root := tree.root(p.Name)
	if exact && root.Version != p.Version {
		return nil, fmt.Errorf("npm answered with version %s", root.Version)
	}
	locked = &lockfile.Package{
		Manager: manager, Name: p.Name, Version: root.Version, Integrity: root.Integrity, Tree: tree.String(),
	}
	if err := s.remember(locked); err != nil {
		return nil, err
	}
	return locked, nil
}

// current asks which version a tag means now. That is quick, unlike finding out its
// dependencies. It is empty when there are several.
func (s *Store) current(ctx context.Context, dir, spec string) (version string, err error) {
	out, err := s.npm(ctx, dir, "view", spec, "version", "--json")
	if err != nil {
		return "", err
	}
	if json.Unmarshal([]byte(strings.TrimSpace(out)), &version) != nil {
		return "", nil // a list: the tag was a range
	}
	return version, nil
}

// manager is how an Expert asks for npm packages.
const manager = "npx"

// Install makes sure that a pinned package is there as it was installed, and returns how to start
// it: a program and its first arguments. Program is that of [expert.Package]. Skills are started
// by [Store.Place].
//
// A package of uv is there only in a sealed store: elsewhere uvx itself starts it.
func (s *Store) Install(ctx context.Context, p *lockfile.Package, program string, note func(string)) (argv []string, err error) {
	defer wrap(&err, nameOf(p))
	if p.Manager == uvManager {
		return s.installedUV(p, program)
	}
	tree, err := lockedTree(p)
	if err != nil {
		return nil, err
	}
	home := s.homeOf(tree)
	if err := s.install(ctx, home, tree, p, thisMachine(), note); err != nil {
		return nil, err
	}
	return s.startOf(filepath.Join(home, modules, filepath.FromSlash(p.Name)), p.Name, program)
}

// homeOf is where a tree is installed for this machine.
func (s *Store) homeOf(t *tree) string { return filepath.Join(s.root(), t.digest()) }

// install makes sure that a package of npm is in home. The flags name the platform, if it is
// not this machine.
func (s *Store) install(ctx context.Context, home string, t *tree, p *lockfile.Package, on Platform, note func(string), flags ...string) error {
	installed := func(dir string) error { return isInstalled(dir, p) }
	return s.ensure(ctx, home, modules, note, installed, func(dir string) error {
		if err := writeManifest(dir, p.Name, p.Version); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, lockName), []byte(t.forNpm()), 0o600); err != nil {
			return err
		}
		tell(note, fmt.Sprintf("installing %s for %s@%s", wording.Count(t.count(), "package"), p.Name, p.Version))
		if _, err := s.npm(ctx, dir, "ci", append(flags, "--allow-remote=none")...); err != nil {
			return err
		}
		if err := t.isNamed(dir); err != nil {
			return err
		}
		if len(flags) > 0 {
			if err := t.isFor(dir, on); err != nil {
				return err
			}
		}
		return nil
	})
}

// ensure makes home, unless installed finds the package there, with the files that were
// installed. It appears complete or not at all: fill works in another directory.
func (s *Store) ensure(ctx context.Context, home, modules string, note func(string), installed, fill func(dir string) error) error {
	release, err := s.exclusively(ctx, "install "+filepath.Base(home))
	if err != nil {
		return err
	}
	defer release()
	verified := func(home string) error {
		if err := installed(home); err != nil || s.Sealed {
			return err
		}
		return isSealed(home, modules)
	}
	found := verified(home)
	switch {
	case found == nil:
		return nil
	case s.Sealed:
		return errSealed
	case errors.Is(found, errTouched):
		tell(note, found.Error()+"; it is fetched again")
	}
	if s.Offline {
		why := "it was not fetched before"
		if errors.Is(found, errTouched) {
			why = found.Error()
		}
		return errors.New(why + ", and [docker] offline does not let anything be fetched; run once without")
	}
	dir, err := s.scratch(filepath.Dir(home))
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	err = fill(dir)
	if err == nil {
		err = installed(dir)
	}
	if err == nil {
		err = seal(dir, modules, home)
	}
	if err != nil {
		return err
	}
	return settle(dir, home, verified)
}

var errSealed = errors.New("it is not in the image, and nothing is fetched where the image runs")

// exclusively waits until no other goroutine does the same work, so that it is not done
// twice. Other processes may do it at the same time.
func (s *Store) exclusively(ctx context.Context, work string) (release func(), err error) {
	s.mu.Lock()
	turn, ok := s.turns[work]
	if !ok {
		if s.turns == nil {
			s.turns = make(map[string]chan struct{})
		}
		turn = make(chan struct{}, 1)
		s.turns[work] = turn
	}
	s.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// requested checks what comes from an Expert, and returns which version it asks for.
func requested(p expert.Package) (version string, err error) {
	switch {
	case p.Manager != manager:
		return "", fmt.Errorf("package %q: only %s packages are fetched here, not those of %q", p.Name, manager, p.Manager)
	case !isName(p.Name):
		return "", fmt.Errorf("%q is not the name of an npm package", p.Name)
	case p.Version != "" && !isVersion(p.Version):
		return "", fmt.Errorf("npm package %s: %q is not an exact version", p.Name, p.Version)
	case p.Version != "":
		return p.Version, nil
	case p.Tag != "" && !isTag(p.Tag):
		return "", fmt.Errorf("npm package %s: %q is not a tag", p.Name, p.Tag)
	case p.Tag != "":
		return p.Tag, nil
	}
	return "latest", nil
}

func wrap(err *error, name string) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", name, *err)
	}
}

// nameOf is how errors call a pinned package.
func nameOf(p *lockfile.Package) string {
	name := safeText(p.Name) + "@" + safeText(p.Version)
	if p.Manager == uvManager {
		return "package " + name + " of uv"
	}
	return "npm package " + name
}

func tell(note func(string), what string) {
	if note != nil {
		note(what)
	}
}

var errBroken = errors.New("the pinned package is broken; " + lockfile.InstallAgain)
