package lockfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// maxLockImages is several times what one file can name.
const maxLockImages = 32

// Image returns the image that a name of the file stands for, by its content: itself if the
// file pins it, else what the lock has.
func (l *Lock) Image(name string) (pinned string, ok bool) {
	if manifest.ImagePinned(name) {
		return name, true
	}
	if l == nil {
		return "", false
	}
	for _, i := range l.Images {
		if i.Name == name {
			return i.Pinned, true
		}
	}
	return "", false
}

// images compares them with what the lock has pinned.
func (r *lockReasons) images(c *manifest.Config) {
	if c.Settings.Runtime != job.Docker {
		return
	}
	for _, name := range c.Images() {
		if _, ok := r.lock.Image(name); !ok {
			r.add("the image %s is not pinned", wording.Quote(name))
		}
	}
}

func (w *lockWriter) images(all []Image) {
	for _, i := range slices.SortedFunc(slices.Values(all), func(a, b Image) int { return cmp.Compare(a.Name, b.Name) }) {
		w.line("\n[[images]]")
		w.text("name", i.Name)
		w.text("pinned", i.Pinned)
	}
}

func (r *lockReader) lockedImages(t *toml.Table) (all []Image) {
	t.EachItem("images", maxLockImages, func(entry *toml.Table) {
		image := Image{Name: entry.Require("name", manifest.PinnableImage), Pinned: entry.Require("pinned", manifest.PinnableImage)}
		entry.Finish()
		switch {
		case image.Name == "" || image.Pinned == "":
		case !image.fits(): // a lock must not have another image run than the one in the file
			r.Fault(entry.Node.KeyAt, entry.At("pinned"), fmt.Sprintf("%s is not %s by its content", wording.Quote(image.Pinned), wording.Quote(image.Name)), "")
		case slices.ContainsFunc(all, func(other Image) bool { return other.Name == image.Name }):
			r.Fault(entry.Node.KeyAt, entry.Node.Path(), fmt.Sprintf("the image %s is pinned twice", wording.Quote(image.Name)), "")
		default:
			all = append(all, image)
		}
	})
	return all
}

// fits reports whether what is pinned is what the name says, with a digest, or an id, which
// only the daemon can compare with the name.
func (i Image) fits() bool {
	if !manifest.ImagePinned(i.Pinned) || manifest.ImagePinned(i.Name) {
		return false
	}
	name, _, digested := strings.Cut(i.Pinned, "@")
	return !digested || name == i.Name || name == untagged(i.Name)
}

// untagged is the name of an image without its tag. A colon before the last slash belongs
// to the port of its host.
func untagged(name string) string {
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		return name[:colon]
	}
	return name
}
