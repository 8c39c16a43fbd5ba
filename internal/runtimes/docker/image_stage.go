package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
	"github.com/perstack-go/perstack/internal/wording"
)

// Packages of skills are layers between a base and our own files, one for each package with
// all that it needs. The image up to such a layer is a stage: it has a name of its own, so
// that Experts with some skills in common share it, and a new perstack changes nothing in it.

// skillsDir is where packages of skills are in an image.
const skillsDir = "/skills"

// mostLayers is what daemons with overlay file systems take.
const mostLayers = 125

// leastMetered is the size of a layer that is worth a report of every tenth of it.
const leastMetered = 1 << 20

// A PackageSet is a package of a skill with all that it needs.
type PackageSet struct {
	Name    string // with its version, for people
	Pin     packages.Pin
	Program string // what runs it, which the base must have
	// Fetch gets it for the platform of the base. It is called if there is no stage yet.
	Fetch func(ctx context.Context, on packages.Platform, note func(string)) (packages.Installed, error)
}

// path is where the set is in the image: as in a store.
func (s PackageSet) path() string { return path.Join(skillsDir, s.Pin.Kind, s.Pin.Digest) }

// skips reports what of an installed package stays out of the image: links to programs that
// are not started, and what a package manager notes about the machine it ran on.
func (s PackageSet) skips(name string) bool {
	dir, base := path.Split(name)
	if s.Pin.Kind == "npm" {
		return dir == "" && base != "node_modules" ||
			path.Base(dir) == "node_modules" && strings.HasPrefix(base, ".")
	}
	return dir == "" && base != "site-packages" || dir == "site-packages/" && (base == "bin" || strings.HasPrefix(base, ".")) || base == "__pycache__" ||
		strings.HasSuffix(dir, ".dist-info/") && slices.Contains([]string{"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"}, base)
}

// foundation returns what the image stands on: its base, with a stage for each set; nil if
// it stands on nothing.
func (d *Daemon) foundation(ctx context.Context, spec ImageSpec, report func(event.Body)) (*base, error) {
	if spec.Base == "" {
		if len(spec.Sets) > 0 {
			return nil, errors.New("packages of skills need an image with what runs them")
		}
		return nil, nil
	}
	under, err := d.base(ctx, spec.Base)
	if err != nil {
		return nil, err
	}
	under.name = cmp.Or(spec.BaseName, under.name)
	// Always in the same order: a stage depends on those below it.
	sets := slices.SortedFunc(slices.Values(spec.Sets), func(a, b PackageSet) int { return cmp.Compare(a.path(), b.path()) })
	sets = slices.CompactFunc(sets, func(a, b PackageSet) bool { return a.path() == b.path() })
	if layers := len(under.layers) + len(sets) + 1; layers > mostLayers {
		return nil, fmt.Errorf("the image %s with %d packages of skills would have %d layers, and daemons take %d; spread the skills over several Experts, or use an image with fewer layers",
			under.name, len(sets), layers, mostLayers)
	}
	for _, set := range sets {
		if under, err = d.stage(ctx, set, under, report); err != nil {
			return nil, fmt.Errorf("add %s: %w", set.Name, err)
		}
	}
	return under, nil
}

// stage returns the stage with one more set than what it stands on, and makes it if it does
// not exist.
func (d *Daemon) stage(ctx context.Context, set PackageSet, on *base, report func(event.Body)) (*base, error) {
	p := set.plan(d.Arch, on)
	p.fill = func(containerID string) error { return d.fill(ctx, containerID, set, on, report) }
	found, err := d.find(ctx, p)
	if found == nil && err == nil {
		found, err = d.make(ctx, p, report)
	}
	if err != nil {
		return nil, err
	}
	return &base{
		name: on.name, id: found.ID, layers: found.RootFS.Layers, variables: found.Config.Env, python: on.python, staged: true,
	}, nil
}

// plan names the stage by what is pinned in it and what it stands on, not by the files:
// they need not be on this machine for it to be found.
func (s PackageSet) plan(arch string, on *base) *plan {
	config := ownConfig()
	config.Labels = ofUser(map[string]string{
		labelImage: hashOf([]byte("packages 2 " + s.path() + " on " + on.id)),
		labelFiles: "", labelBase: on.id, labelPackages: s.path(),
	})
	return &plan{base: on, image: archive.Image{Arch: arch, Config: config}}
}

// fill puts the packages of a set into the container that will be the stage.
func (d *Daemon) fill(ctx context.Context, containerID string, set PackageSet, on *base, report func(event.Body)) error {
	var parents []string
	for _, dir := range []string{skillsDir, path.Dir(set.path())} {
		there, err := d.api.Has(ctx, containerID, dir)
		switch {
		case err != nil:
			return err
		case there && !on.staged:
			// It could be a link, and our files would go wherever that leads.
			return fmt.Errorf("the image %s has %s already, where packages of skills go; use an image without", on.name, dir)
		case !there:
			parents = append(parents, dir)
		}
	}
	if err := d.needProgram(ctx, containerID, set.Program, on); err != nil {
		return err
	}
	platform, err := d.platform(ctx, containerID, on, report)
	if err != nil {
		return err
	}
	installed, err := set.Fetch(ctx, platform, func(text string) { report(progress("building", text)) })
	if err != nil {
		return err
	}
	tree, err := archive.OpenTree(installed.Dir, set.path(), set.skips)
	if err != nil {
		return err
	}
	defer tree.Close()
	report(progress("building", fmt.Sprintf("adding %s (%s, %.1f MB)", set.Name, wording.Count(installed.Packages, "package"), float64(tree.Size)/1e6)))
	return d.send(ctx, containerID, func(w io.Writer) error {
		if tree.Size >= leastMetered {
			w = meter(w, "adding "+set.Name, tree.Size, report)
		}
		return tree.Write(w, parents...)
	})
}

// needProgram looks for what runs a set where the container would look.
func (d *Daemon) needProgram(ctx context.Context, containerID, program string, on *base) error {
	list, _ := strings.CutPrefix(on.env()[0], "PATH=")
	for _, dir := range strings.Split(list, ":") {
		if !path.IsAbs(dir) {
			continue
		}
		if there, err := d.api.Has(ctx, containerID, path.Join(dir, program)); there || err != nil {
			return err
		}
	}
	return fmt.Errorf("the image %s has no %s in its PATH, which runs this package; use another in [docker]", on.name, program)
}

// platform is what packages in the container have to be made for.
func (d *Daemon) platform(ctx context.Context, containerID string, on *base, report func(event.Body)) (packages.Platform, error) {
	libc, err := packages.FindLibc(func(file string) (bool, error) { return d.api.Has(ctx, containerID, file) })
	if err != nil {
		return packages.Platform{}, err
	}
	if libc == "" {
		libc = "glibc"
		report(progress("building", "which C library "+on.name+" has is not known; packages for that of GNU are taken"))
	}
	p := packages.PlatformOf("linux", d.Arch, libc)
	p.Python = on.python
	return p, nil
}

// pythonOf is the version of Python that an image says it has, like 3.13.
func pythonOf(variables []string) string {
	for _, v := range variables {
		if version, ok := strings.CutPrefix(v, "PYTHON_VERSION="); ok {
			if parts := strings.Split(version, "."); len(parts) >= 2 && parts[0] == "3" {
				return parts[0] + "." + parts[1]
			}
		}
	}
	return ""
}
