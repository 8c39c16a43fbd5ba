package docker

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/image"

	"github.com/perstack-go/perstack/internal/runtimes/docker/api"
)

// Pruned is what [Daemon.Prune] removed.
type Pruned struct {
	Images     int   `json:"images"`
	Bytes      int64 `json:"bytes"`
	Containers int   `json:"containers"` // that dead runs had left
	Networks   int   `json:"networks"`
	InUse      int   `json:"inUse"` // images that would have gone, but for a container that stands on them
}

// Prune removes images that no run would use again, or all of perstack's, and what dead
// runs left behind. An image of which a container exists stays.
//
// keep is what a run would make its image of now: images with these files stay, on
// whatever base, as long as the base has a name; and with them the stages that they stand
// on. A keep without a program keeps none.
func (d *Daemon) Prune(ctx context.Context, all bool, keep ImageSpec) (Pruned, error) {
	current := map[string]bool{}
	if !all && keep.Binary != "" {
		var err error
		if current, err = keep.digests(d.Arch); err != nil {
			return Pruned{}, err
		}
	}
	// First, since a container that is left keeps its image in use.
	containers, networks, err := d.Sweep(ctx)
	p, imagesErr := d.pruneImages(ctx, current, ourName)
	p.Containers, p.Networks = containers, networks
	return p, errors.Join(err, imagesErr)
}

// pruneImages removes the images that have a name of ours, but for those whose files are
// current.
func (d *Daemon) pruneImages(ctx context.Context, current map[string]bool, ours func(image.Summary) string) (Pruned, error) {
	list, err := d.api.Images(ctx, labelImage)
	if err != nil {
		return Pruned{}, fmt.Errorf("list the images: %w", err)
	}
	below := make(map[string]image.Summary, len(list)) // by id
	for _, found := range list {
		below[found.ID] = found
	}
	var p Pruned
	var failed error
	// What stands on something goes before it, and if it stays, so does that.
	for _, found := range topDown(list) {
		name := ours(found)
		if name == "" || below[found.ID].ID == "" {
			continue
		}
		under := d.under(ctx, found)
		stays := current[found.Labels[labelFiles]] && under.named && name != found.ID
		if !stays && name == found.ID && !d.standsOn(ctx, found, under) {
			continue
		}
		var err error
		if !stays {
			// Without force the daemon refuses if there is a container, also a stopped one.
			err = d.api.RemoveImage(ctx, name)
		}
		switch {
		case stays:
			keepBelow(below, found)
		case err == nil:
			p.Images++
			p.Bytes += max(found.Size-under.size, 0)
		case api.IsConflict(err):
			p.InUse++
			keepBelow(below, found)
		case !api.IsNotFound(err): // another prune was faster
			failed = errors.Join(failed, fmt.Errorf("remove the image %s: %w", name, err))
			keepBelow(below, found)
		}
	}
	return p, failed
}

// topDown sorts images so that none comes before one that stands on it.
func topDown(all []image.Summary) []image.Summary {
	height := make(map[string]int, len(all))
	labels := make(map[string]string, len(all))
	for _, found := range all {
		labels[found.ID] = found.Labels[labelBase]
	}
	for id := range labels {
		for at, n := id, 0; labels[at] != "" && n <= len(all); at, n = labels[at], n+1 {
			height[id]++
		}
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b image.Summary) int { return cmp.Compare(height[b.ID], height[a.ID]) })
}

// keepBelow takes what an image stands on out of those that may go.
func keepBelow(below map[string]image.Summary, found image.Summary) {
	for id := found.Labels[labelBase]; below[id].ID != ""; {
		next := below[id].Labels[labelBase]
		delete(below, id)
		id = next
	}
}

// ourName returns the name that we gave an image, the id of one that has lost it, or "".
// Two runs that make an image on the same base at the same time want the same name for it,
// and the first loses it. An image that a user built on ours has our labels too,
// but a name of theirs. An image of another user is not ours.
func ourName(found image.Summary) string {
	digest := found.Labels[labelImage]
	if len(digest) != sha256.Size*2 || found.Labels[labelUser] != userID() {
		return ""
	}
	names := 0
	for _, tag := range found.RepoTags {
		// Podman writes localhost/ before names without a registry.
		if strings.TrimPrefix(tag, "localhost/") == tagOf(digest) {
			return tag
		}
		if tag != "<none>:<none>" { // how older daemons say that there is none
			names++
		}
	}
	if names > 0 || found.Labels[labelBase] == "" {
		return ""
	}
	return found.ID
}

// A foundation is what an image stands on.
type foundation struct {
	named  bool  // a run can still be told to use it
	size   int64 // bytes, which stay when the image goes
	layers []string
}

// under looks at what an image stands on. One that stands on nothing is on firm ground.
func (d *Daemon) under(ctx context.Context, found image.Summary) foundation {
	id := found.Labels[labelBase]
	if id == "" {
		return foundation{named: true}
	}
	base, err := d.api.Image(ctx, id)
	if err != nil {
		return foundation{}
	}
	f := foundation{size: base.Size, layers: base.RootFS.Layers}
	// Below stages of ours is an image of the user's, and it is the name of that which counts.
	for range maxLayers {
		if base.Config == nil || base.Config.Labels[labelPackages] == "" {
			f.named = len(base.RepoTags) > 0 || len(base.RepoDigests) > 0
			break
		}
		if base, err = d.api.Image(ctx, base.Config.Labels[labelBase]); err != nil {
			break
		}
	}
	return f
}

// standsOn reports whether an image is ours as we made it: with one layer more than its
// base, and with our comment. An image that a user built on it has another one.
func (d *Daemon) standsOn(ctx context.Context, found image.Summary, base foundation) bool {
	whole, err := d.api.Image(ctx, found.ID)
	return err == nil && strings.HasPrefix(whole.Comment, comment) && len(base.layers) > 0 && len(whole.RootFS.Layers) == len(base.layers)+1
}

// digests returns those of the files of s, with and without a base.
func (s ImageSpec) digests(arch string) (map[string]bool, error) {
	digests := map[string]bool{}
	for _, base := range []string{"", "any"} {
		s.Base = base
		p, err := s.plan(arch, nil)
		if err != nil {
			return nil, err
		}
		p.layer.Close()
		digests[p.image.Config.Labels[labelFiles]] = true
	}
	return digests, nil
}
