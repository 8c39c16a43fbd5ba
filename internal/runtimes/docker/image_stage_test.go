package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/packages"
	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// A shelf has packages as npm would have installed them, and counts who takes them.
type shelf struct {
	taken []string
	on    packages.Platform
}

// set is a package of one file, and of what more says.
func (s *shelf) set(t *testing.T, name, text string, more map[string]string) PackageSet {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"node_modules/" + name + "/index.js": text, "node_modules/.package-lock.json": "of the host", "package.json": "of the host"}
	maps.Copy(files, more)
	for file, text := range files {
		at := filepath.Join(dir, filepath.FromSlash(file))
		err := os.MkdirAll(filepath.Dir(at), 0o700)
		if target, link := strings.CutPrefix(text, "->"); link {
			err = errors.Join(err, os.Symlink(target, at))
		} else {
			err = errors.Join(err, os.WriteFile(at, []byte(text), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sum := sha256.Sum256([]byte(name + text))
	digest := hex.EncodeToString(sum[:])
	return PackageSet{
		Name: name + "@1.0.0", Pin: packages.Pin{Kind: "npm", Digest: digest}, Program: "node",
		Fetch: func(_ context.Context, on packages.Platform, note func(string)) (packages.Installed, error) {
			s.taken, s.on = append(s.taken, name), on
			note("installing 3 packages for " + name)
			return packages.Installed{Dir: dir, Packages: 3}, nil
		},
	}
}

// withNode is a base image that has something called node.
func withNode(t *testing.T, more ...archive.File) string {
	t.Helper()
	return daemon.Load(t, archive.Config{Env: []string{"PATH=/opt/bin:/bin", "NODE_OPTIONS=--require=/evil"}}, append([]archive.File{
		{Path: "/opt", Mode: 0o755},
		{Path: "/opt/bin", Mode: 0o755},
		{Path: "/opt/bin/node", Mode: 0o755, Body: archive.Text(daemon.Name(t))},
		{Path: "/opt/data", Mode: 0o644, Body: archive.Text(daemon.Name(t))},
	}, more...))
}

// tags are the names of the images that a spec stands on, from below.
func (i *imagist) tags(t *testing.T, spec ImageSpec) (tags []string) {
	t.Helper()
	sets := slices.Clone(spec.Sets)
	for n := range sets {
		sets[n].Fetch = func(context.Context, packages.Platform, func(string)) (packages.Installed, error) {
			t.Error("the stage is made again")
			return packages.Installed{}, errors.New("not again")
		}
	}
	for n := range sets {
		spec.Sets = sets[:n+1]
		under, err := i.foundation(t.Context(), spec, i.report)
		if err != nil {
			t.Fatal(err)
		}
		found, err := i.moby.ImageInspect(t.Context(), under.id)
		if err != nil || len(found.RepoTags) != 1 {
			t.Fatalf("%v, %v", found.RepoTags, err)
		}
		tags = append(tags, found.RepoTags[0])
	}
	return tags
}

// removeStages takes away what stands on the base of a spec when the test ends.
func (i *imagist) removeStages(t *testing.T, spec ImageSpec) {
	t.Helper()
	base, ctx := i.id(t, spec.Base), context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		list, err := i.moby.ImageList(ctx, client.ImageListOptions{Filters: make(client.Filters).Add("label", labelPackages)})
		if err != nil {
			t.Error(err)
		}
		for _, found := range topDown(list.Items) {
			for at := found; ; {
				if at.Labels[labelBase] == base {
					_, err := i.moby.ImageRemove(ctx, found.ID, client.ImageRemoveOptions{Force: true, PruneChildren: true})
					if err != nil && !errdefs.IsNotFound(err) {
						t.Error(err)
					}
					break
				}
				n := slices.IndexFunc(list.Items, func(s image.Summary) bool { return s.ID == at.Labels[labelBase] })
				if n < 0 {
					break
				}
				at = list.Items[n]
			}
		}
	})
}

// contents lists what is below a directory of an image.
func (i *imagist) contents(t *testing.T, image, dir string) map[string]string {
	t.Helper()
	created, err := i.moby.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: daemon.Name(t), Config: &container.Config{Image: image}})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveContainer(t, i.moby, created.ID)
	copied, err := i.moby.CopyFromContainer(t.Context(), created.ID, client.CopyFromContainerOptions{SourcePath: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Content.Close()
	all := map[string]string{}
	for r := tar.NewReader(copied.Content); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[h.Name] = fmt.Sprintf("%04o %d:%d %s%s", h.Mode&0o7777, h.Uid, h.Gid, h.Linkname, text)
		if h.ModTime.Unix() != 0 && h.Typeflag == tar.TypeReg {
			t.Errorf("%s is of %s", h.Name, h.ModTime)
		}
	}
}

// Each set is a layer that Experts share: what was made once is found again, also under
// another program, and a set that changed is another stage.
func TestStagesAreShared(t *testing.T) {
	i, s := newImagist(t), &shelf{}
	spec := i.spec(t)
	spec.Base = withNode(t)
	i.removeStages(t, spec)
	a, b, c := s.set(t, "a", "1", nil), s.set(t, "b", "1", nil), s.set(t, "b", "2", nil)
	all := []PackageSet{a, b}
	slices.SortFunc(all, func(x, y PackageSet) int { return strings.Compare(x.Pin.Digest, y.Pin.Digest) })

	spec.Sets = []PackageSet{b, a, b} // in any order, and twice
	first, _ := i.image(t, spec)
	if slices.Sort(s.taken); strings.Join(s.taken, " ") != "a b" {
		t.Errorf("taken %q", s.taken)
	}
	if want := packages.PlatformOf("linux", i.Arch, "glibc"); s.on != want {
		t.Errorf("for %+v", s.on)
	}
	found, err := i.moby.ImageInspect(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	under, err := i.moby.ImageInspect(t.Context(), spec.Base)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.RootFS.Layers) != len(under.RootFS.Layers)+3 || found.Config.Labels[labelPackages] != "" || found.Config.Labels[labelFiles] == "" {
		t.Errorf("layers %v, labels %v", found.RootFS.Layers, found.Config.Labels)
	}
	got := i.contents(t, first, skillsDir)
	want := map[string]string{"skills/": "0755 0:0 ", "skills/npm/": "0755 0:0 "}
	for _, set := range all {
		name := strings.TrimSuffix(set.Name, "@1.0.0")
		dir := "skills/npm/" + set.Pin.Digest + "/"
		want[dir], want[dir+"node_modules/"], want[dir+"node_modules/"+name+"/"] = "0755 0:0 ", "0755 0:0 ", "0755 0:0 "
		want[dir+"node_modules/"+name+"/index.js"] = "0444 0:0 1"
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	out := i.run(t, container.Config{Image: first, User: "1234:1234", Cmd: []string{"--version"}})
	if strings.TrimSpace(out) == "" {
		t.Error("perstack --version says nothing")
	}

	// A new program, and the same packages.
	s.taken = nil
	other := i.spec(t)
	other.Base, other.Sets = spec.Base, spec.Sets
	second, _ := i.image(t, other)
	if second == first || len(s.taken) > 0 {
		t.Errorf("%s, taken %q", second, s.taken)
	}
	// Another Expert, with one set in common.
	other.Sets = []PackageSet{all[0]}
	third, _ := i.image(t, other)
	if third == second || len(s.taken) > 0 {
		t.Errorf("%s, taken %q", third, s.taken)
	}
	tags := i.tags(t, ImageSpec{Base: spec.Base, Sets: all})
	if len(tags) != 2 || tags[0] == tags[1] || !strings.HasPrefix(tags[0], repository+":") {
		t.Errorf("tags %q", tags)
	}
	// Another version of a package.
	other.Sets = []PackageSet{a, c}
	fourth, _ := i.image(t, other)
	if fourth == second || !slices.Contains(s.taken, "b") {
		t.Errorf("%s, taken %q", fourth, s.taken)
	}
	if got := i.contents(t, fourth, skillsDir)["skills/npm/"+c.Pin.Digest+"/node_modules/b/index.js"]; got != "0444 0:0 2" {
		t.Errorf("b is %q", got)
	}
	// No stage is started by accident, nor with the environment of the base.
	stage, err := i.moby.ImageInspect(t.Context(), tags[0])
	if err != nil {
		t.Fatal(err)
	}
	if c := stage.Config; !slices.Equal(c.Entrypoint, []string{"/perstack"}) || c.User != "65534:65534" || slices.Contains(c.Env, "NODE_OPTIONS=--require=/evil") {
		t.Errorf("stage %+v", c)
	}
}

// Notes of package managers, and files that are never started, stay out of images.
func TestWhatStaysOutOfAnImage(t *testing.T) {
	for kind, names := range map[string]map[string]bool{
		"npm": {
			"node_modules": false, "node_modules/a": false, "node_modules/@a/b": false, "node_modules/a/.npmrc": false, "node_modules/a/bin": false,
			"package.json": true, "package-lock.json": true, "node_modules/.bin": true, "node_modules/.package-lock.json": true, "node_modules/a/node_modules/.bin": true,
		},
		"uv": {
			"site-packages": false, "site-packages/a": false, "site-packages/a/bin": false, "site-packages/a-1.dist-info/entry_points.txt": false, "site-packages/a-1.dist-info": false,
			"site-packages/bin": true, "site-packages/.lock": true, "site-packages/a/__pycache__": true, "site-packages/a-1.dist-info/RECORD": true,
			"site-packages/a-1.dist-info/direct_url.json": true, "other": true,
		},
	} {
		set := PackageSet{Pin: packages.Pin{Kind: kind}}
		for name, want := range names {
			if got := set.skips(name); got != want {
				t.Errorf("%s %s stays out: %v", kind, name, got)
			}
		}
	}
}

func TestStagesTellNamesAndSizes(t *testing.T) {
	i, s := newImagist(t), &shelf{}
	spec := i.spec(t)
	spec.Base = withNode(t, archive.File{Path: "/lib64", Mode: 0o755}, archive.File{Path: "/lib64/libc.so.6", Mode: 0o755, Body: archive.Text("gnu")})
	i.removeStages(t, spec)
	spec.Sets = []PackageSet{s.set(t, "big", strings.Repeat("x", 1_234_000), nil)}
	p, err := i.plan(t.Context(), spec, i.report)
	if err != nil {
		t.Fatal(err)
	}
	p.layer.Close()
	var got []string
	for _, e := range i.events {
		if e.Stage != "building" || e.Service != "image" {
			t.Errorf("event %+v", e)
		}
		got = append(got, e.Message)
	}
	if want := []string{"installing 3 packages for big", "adding big@1.0.0 (3 packages, 1.2 MB)", "adding big@1.0.0: 0.0 of 1.2 MB"}; !slices.Equal(got, want) {
		t.Errorf("told %q", got)
	}
}

// A program that can load images can use our names and labels, but not our base.
func TestStageOfAnotherIsNotUsed(t *testing.T) {
	i, s := newImagist(t), &shelf{}
	spec := i.spec(t)
	spec.Base = withNode(t)
	i.removeStages(t, spec)
	spec.Sets = []PackageSet{s.set(t, "a", "1", nil)}
	under, err := i.base(t.Context(), spec.Base)
	if err != nil {
		t.Fatal(err)
	}
	plan := spec.Sets[0].plan(i.Arch, under)
	fake := daemon.Load(t, plan.image.Config, []archive.File{{Path: "/skills", Mode: 0o755}, {Path: "/skills/evil", Mode: 0o555, Body: archive.Text("evil")}})
	if _, err := i.moby.ImageTag(t.Context(), client.ImageTagOptions{Source: fake, Target: plan.tag()}); err != nil {
		t.Fatal(err)
	}
	id, _ := i.image(t, spec)
	if len(s.taken) != 1 {
		t.Error("the stage of another is used")
	}
	if _, evil := i.contents(t, id, skillsDir)["skills/evil"]; evil {
		t.Error("the files of another are in the image")
	}
	// One of ours, with a layer more than we made.
	tag := plan.tag()
	created, err := i.moby.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: daemon.Name(t), Config: &container.Config{Image: tag}})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveContainer(t, i.moby, created.ID)
	more := &openLayer{Layer: &archive.Layer{Size: 1, Files: []archive.File{{Path: "/skills/evil", Mode: 0o555, Body: archive.Text("evil")}}}}
	if err := i.copyFiles(t.Context(), created.ID, more, i.report); err != nil {
		t.Fatal(err)
	}
	built, err := i.moby.ContainerCommit(t.Context(), created.ID, client.ContainerCommitOptions{Reference: tag})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveImage(t, i.moby, built.ID)
	if id, _ = i.image(t, spec); len(s.taken) != 2 {
		t.Error("a stage with more on top is used")
	}
	if _, evil := i.contents(t, id, skillsDir)["skills/evil"]; evil {
		t.Error("the files of another are in the image")
	}
}

func TestStagesThatCannotBeMade(t *testing.T) {
	i, s := newImagist(t), &shelf{}
	good := withNode(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	failing := s.set(t, "failing", "1", nil)
	failing.Fetch = func(context.Context, packages.Platform, func(string)) (packages.Installed, error) {
		return packages.Installed{}, errors.New("no network")
	}
	for name, test := range map[string]struct {
		base string
		set  PackageSet
		want string
	}{
		"no node":          {loadBase(t, nil), s.set(t, "a", "1", nil), "has no node in its PATH"},
		"skills are there": {withNode(t, archive.File{Path: "/skills", Mode: 0o755}), s.set(t, "a", "1", nil), "has /skills already"},
		"skills are a link": {withNode(t, archive.File{Path: "/skills", Mode: 0o777, Link: "/opt"}), s.set(t, "a", "1", nil),
			"has /skills already"},
		"nothing to stand on": {"", s.set(t, "a", "1", nil), "need an image"},
		"a link out":          {good, s.set(t, "a", "2", map[string]string{"node_modules/a/out": "->" + secret}), "leads out of the package"},
		"a link upwards":      {good, s.set(t, "a", "3", map[string]string{"node_modules/a/out": "->../../../../x"}), "leads out of the package"},
		"a whiteout":          {good, s.set(t, "a", "4", map[string]string{"node_modules/a/.wh.index.js": ""}), "would remove another one"},
		"no network":          {good, failing, "add failing@1.0.0: no network"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := i.spec(t)
			spec.Base, spec.Sets = test.base, []PackageSet{test.set}
			if id, err := i.Image(t.Context(), spec, i.report); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s, error %v", id, err)
			}
		})
	}
	many := i.spec(t)
	many.Base = good
	for n := range mostLayers {
		set := failing
		set.Pin.Digest = fmt.Sprint(n)
		many.Sets = append(many.Sets, set)
	}
	if _, err := i.Image(t.Context(), many, i.report); err == nil || !strings.Contains(err.Error(), "would have 127 layers") {
		t.Errorf("too many layers: %v", err)
	}
	list, err := i.moby.ContainerList(t.Context(), client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("ancestor", i.id(t, good))})
	if err != nil || len(list.Items) > 0 {
		t.Errorf("containers are left: %+v, %v", list.Items, err)
	}
}

// What runs packages decides what they are fetched for.
func TestPlatformOfABase(t *testing.T) {
	i, s := newImagist(t), &shelf{}
	musl := archive.File{Path: "/lib/ld-musl-x86_64.so.1", Mode: 0o755, Body: archive.Text("musl")}
	lib := archive.File{Path: "/lib", Mode: 0o755}
	for name, test := range map[string]struct {
		files []archive.File
		want  string
	}{
		"neither": {nil, "glibc"},
		"musl":    {[]archive.File{lib, musl}, "musl"},
		"both": {[]archive.File{
			lib, musl, {Path: "/lib/x86_64-linux-gnu", Mode: 0o755}, {Path: "/lib/x86_64-linux-gnu/libc.so.6", Mode: 0o755, Body: archive.Text("gnu")},
		}, "glibc"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := i.spec(t)
			spec.Base = withNode(t, test.files...)
			i.removeStages(t, spec)
			spec.Sets = []PackageSet{s.set(t, "a", name, nil)}
			guessed := false
			if _, err := i.Image(t.Context(), spec, func(b event.Body) {
				p, ok := b.(event.DockerBuildProgress)
				guessed = guessed || ok && strings.Contains(p.Message, "which C library")
			}); err != nil {
				t.Fatal(err)
			}
			i.image(t, spec) // removes it later
			if s.on.Libc != test.want || s.on.OS != "linux" {
				t.Errorf("for %+v", s.on)
			}
			if guessed != (test.files == nil) {
				t.Errorf("a guess was told: %t", guessed)
			}
		})
	}
	for _, test := range [][2]string{{"PYTHON_VERSION=3.13.1", "3.13"}, {"PYTHON_VERSION=3.14.0a1", "3.14"}, {"PYTHON_VERSION=2.7.18", ""}, {"PYTHON_VERSION=x", ""}, {"X=3.13.1", ""}} {
		if got := pythonOf([]string{"PATH=/bin", test[0]}); got != test[1] {
			t.Errorf("%s: %q", test[0], got)
		}
	}
}

// Stages go with the last image that stands on them.
func TestPruneStages(t *testing.T) {
	i, s := newImagist(t), &shelf{}
	current, old := i.spec(t), i.spec(t)
	current.Base = withNode(t)
	old.Base = current.Base
	i.removeStages(t, current)
	a, b := s.set(t, "a", "1", nil), s.set(t, "b", "1", nil)
	sets := []PackageSet{a, b}
	slices.SortFunc(sets, func(x, y PackageSet) int { return strings.Compare(x.Pin.Digest, y.Pin.Digest) })
	current.Sets, old.Sets = sets[:1], sets
	_, kept := i.image(t, current)
	_, gone := i.image(t, old)
	tags := i.tags(t, old)
	mine := among(append([]string{kept, gone}, tags...)...)
	digests, err := current.digests(i.Arch)
	if err != nil {
		t.Fatal(err)
	}
	got, err := i.pruneImages(t.Context(), digests, mine)
	if err != nil || got.Images != 2 || got.InUse != 0 {
		t.Errorf("pruned %+v, %v", got, err)
	}
	i.expect(t, map[string]bool{kept: true, gone: false, tags[0]: true, tags[1]: false, current.Base: true})

	// Of an image in use nothing goes.
	created, err := i.moby.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: daemon.Name(t), Config: &container.Config{Image: kept}})
	if err != nil {
		t.Fatal(err)
	}
	if got, err = i.pruneImages(t.Context(), nil, mine); err != nil || got.Images != 0 || got.InUse != 1 {
		t.Errorf("in use: %+v, %v", got, err)
	}
	i.expect(t, map[string]bool{kept: true, tags[0]: true})
	if _, err := i.moby.ContainerRemove(t.Context(), created.ID, client.ContainerRemoveOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, err = i.pruneImages(t.Context(), nil, mine); err != nil || got.Images != 2 {
		t.Errorf("all: %+v, %v", got, err)
	}
	i.expect(t, map[string]bool{kept: false, tags[0]: false, current.Base: true})
}
