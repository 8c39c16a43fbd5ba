package docker

import (
	"slices"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/image"
	"github.com/moby/moby/client"

	"github.com/perstack-go/perstack/internal/runtimes/docker/archive"
	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// Other tests have images on the daemon at the same time: only those of this one may go.
func among(names ...string) func(image.Summary) string {
	return func(found image.Summary) string {
		if name := ourName(found); slices.Contains(names, name) {
			return name
		}
		return ""
	}
}

func TestPruneImages(t *testing.T) {
	i := newImagist(t)
	current := i.spec(t)
	_, kept := i.image(t, current)
	_, old := i.image(t, i.spec(t))
	_, used := i.image(t, i.spec(t))
	created, err := i.moby.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: daemon.Name(t), Config: &container.Config{Image: used, Cmd: []string{"--version"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveContainer(t, i.moby, created.ID)

	based := current
	based.Base = loadBase(t, nil)
	_, keptBased := i.image(t, based)
	// The base of this one is not what its name says any more.
	stale := current
	stale.Base = loadBase(t, nil)
	staleBase := i.id(t, stale.Base)
	_, staleBased := i.image(t, stale)
	if _, err := i.moby.ImageTag(t.Context(), client.ImageTagOptions{Source: based.Base, Target: stale.Base}); err != nil {
		t.Fatal(err)
	}
	daemon.RemoveImage(t, i.moby, staleBase)

	// Somebody built an image on ours. It inherits our labels.
	foreign := daemon.Load(t, archive.Config{Labels: map[string]string{labelImage: i.label(t, old), labelUser: userID()}}, nil)

	mine := among(kept, old, used, keptBased, staleBased, foreign)
	digests, err := current.digests(i.Arch)
	if err != nil {
		t.Fatal(err)
	}
	size := i.size(t, old)
	got, err := i.pruneImages(t.Context(), digests, mine)
	if err != nil {
		t.Fatal(err)
	}
	if got.Images != 2 || got.InUse != 1 || got.Bytes < size || got.Bytes > 2*size+1<<20 {
		t.Errorf("pruned %+v; one image has %d bytes", got, size)
	}
	i.expect(t, map[string]bool{kept: true, old: false, used: true, keptBased: true, staleBased: false, foreign: true, based.Base: true})

	if got, err = i.pruneImages(t.Context(), digests, mine); err != nil || got.Images != 0 || got.InUse != 1 {
		t.Errorf("the second time: %+v, %v", got, err)
	}
	if got, err = i.pruneImages(t.Context(), nil, mine); err != nil || got.Images != 2 || got.InUse != 1 {
		t.Errorf("all: %+v, %v", got, err)
	}
	i.expect(t, map[string]bool{kept: false, used: true, keptBased: false, foreign: true, based.Base: true})
}

// Two runs made an image on the same base at the same time: the name is that of the last.
func TestPruneImagesWithoutAName(t *testing.T) {
	i := newImagist(t)
	spec := i.spec(t)
	spec.Base = loadBase(t, nil)
	lost, tag := i.image(t, spec)
	daemon.RemoveImage(t, i.moby, lost)
	p, err := i.plan(t.Context(), spec, i.report)
	if err != nil {
		t.Fatal(err)
	}
	defer p.layer.Close()
	if _, err := i.make(t.Context(), p, i.report); err != nil {
		t.Fatal(err)
	}
	if i.id(t, tag) == lost {
		t.Fatal("the second image is the first")
	}

	// Somebody builds on ours, and gives it no name.
	created, err := i.moby.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: daemon.Name(t), Config: &container.Config{Image: tag}})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveContainer(t, i.moby, created.ID)
	built, err := i.moby.ContainerCommit(t.Context(), created.ID, client.ContainerCommitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	daemon.RemoveImage(t, i.moby, built.ID)

	digests, err := spec.digests(i.Arch)
	if err != nil {
		t.Fatal(err)
	}
	got, err := i.pruneImages(t.Context(), digests, among(tag, lost, built.ID))
	if err != nil || got.Images != 1 || got.InUse != 0 {
		t.Errorf("pruned %+v, %v", got, err)
	}
	i.expect(t, map[string]bool{tag: true, lost: false, built.ID: true})
}

func (i *imagist) label(t *testing.T, name string) string {
	t.Helper()
	found, err := i.moby.ImageInspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return found.Config.Labels[labelImage]
}

func (i *imagist) size(t *testing.T, name string) int64 {
	t.Helper()
	found, err := i.moby.ImageInspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return found.Size
}

func (i *imagist) expect(t *testing.T, there map[string]bool) {
	t.Helper()
	for name, want := range there {
		if _, err := i.moby.ImageInspect(t.Context(), name); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
}

func TestOurName(t *testing.T) {
	const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, test := range []struct {
		label string
		tags  []string
		want  string
	}{
		{digest, []string{"perstack-runtime:0123456789ab"}, "perstack-runtime:0123456789ab"},
		{digest, []string{"mine:1", "perstack-runtime:0123456789ab"}, "perstack-runtime:0123456789ab"},
		{digest, []string{"localhost/perstack-runtime:0123456789ab"}, "localhost/perstack-runtime:0123456789ab"},
		{digest, []string{"perstack-runtime:ffffffffffff"}, ""},
		{digest, []string{"example.com/perstack-runtime:0123456789ab"}, ""},
		{digest, []string{"mine:1"}, ""},
		{digest, nil, ""}, // one on nothing never loses its name
		{"", []string{"perstack-runtime:0123456789ab"}, ""},
		{"012", []string{"perstack-runtime:012"}, ""},
	} {
		got := ourName(image.Summary{Labels: map[string]string{labelImage: test.label, labelUser: userID()}, RepoTags: test.tags})
		if got != test.want {
			t.Errorf("%s %v: %q, want %q", test.label, test.tags, got, test.want)
		}
	}
	for _, tags := range [][]string{nil, {"<none>:<none>"}} {
		found := image.Summary{ID: "sha256:1", Labels: map[string]string{labelImage: digest, labelBase: "sha256:2", labelUser: userID()}, RepoTags: tags}
		if got := ourName(found); got != "sha256:1" {
			t.Errorf("%v: %q", tags, got)
		}
	}
	// Of another user, or of a version that did not say whose it is.
	for _, user := range []string{"", "0123456789abcdef"} {
		found := image.Summary{ID: "sha256:1", Labels: map[string]string{labelImage: digest, labelUser: user}, RepoTags: []string{"perstack-runtime:0123456789ab"}}
		if got := ourName(found); got != "" {
			t.Errorf("of user %q: %q", user, got)
		}
	}
}
