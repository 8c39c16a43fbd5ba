package expert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// This file holds what a lockfile says about images: by which content the container of a
// run stands on them, and its proxy.

// maxLockImages is several times what one file can name.
const maxLockImages = 32

// Image returns the image that a name of the file stands for, by its content. What is
// pinned in the file already stands for itself; for the rest the lock knows, or nobody.
func (l *Lock) Image(name string) (pinned string, ok bool) {
	if ImagePinned(name) {
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

// Images are the images that runs of the file stand on with the runtime docker, as the file
// names them or by default, each once: what holds the packages of skills, and what Squid
// runs in. An image for commands is not among them: it is on this machine and nobody
// fetches it.
func (c *Config) Images() []string { return c.ImagesOf(c.Experts) }

// ImagesOf is Images for runs of these Experts alone.
func (c *Config) ImagesOf(experts []*Expert) (names []string) {
	d := c.Docker.Or(DefaultDocker())
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, e := range experts {
		for _, s := range e.Servers() {
			p, ok := s.Package()
			switch {
			case !ok || d.BaseImage != "":
			case p.Manager == "npx":
				add(d.NodeImage)
			case p.Manager == "uvx":
				add(d.PythonImage)
			}
		}
	}
	if d.Proxy == ProxySquid {
		add(d.SquidImage)
	}
	return names
}

// images compares them with what the lock has pinned.
func (r *lockReasons) images(c *Config) {
	if c.Runtime != DockerRuntime {
		return
	}
	for _, name := range c.Images() {
		if _, ok := r.lock.Image(name); !ok {
			r.add("the image %s is not pinned", quote(name))
		}
	}
}

func (w *lockWriter) images(all []LockedImage) {
	for _, i := range slices.SortedFunc(slices.Values(all), func(a, b LockedImage) int { return cmp.Compare(a.Name, b.Name) }) {
		w.line("\n[[images]]")
		w.text("name", i.Name)
		w.text("pinned", i.Pinned)
	}
}

func (r *reader) lockedImages(t *table) (all []LockedImage) {
	list := t.want("images", kindArray)
	if list == nil {
		return nil
	}
	r.atMost(list, "images", len(list.items), maxLockImages, "entries")
	for i, item := range list.first(maxLockImages) {
		path := pathTo("images", fmt.Sprint(i))
		if !r.is(item, kindTable, path) {
			continue
		}
		entry := &table{r: r, n: item, path: path}
		image := LockedImage{Name: entry.require("name", "", pinnableImage), Pinned: entry.require("pinned", "", pinnableImage)}
		entry.finish()
		switch {
		case image.Name == "" || image.Pinned == "":
		case !image.fits():
			// A lock must not have another image run than the one that everybody reads in
			// the file.
			r.fault(item.keyAt, pathTo(path, "pinned"), fmt.Sprintf("%s is not %s by its content", quote(image.Pinned), quote(image.Name)), "")
		case slices.ContainsFunc(all, func(other LockedImage) bool { return other.Name == image.Name }):
			r.fault(item.keyAt, path, fmt.Sprintf("the image %s is pinned twice", quote(image.Name)), "")
		default:
			all = append(all, image)
		}
	}
	return all
}

// fits reports whether what is pinned is what the name says, with a digest, or an id: what
// that is the engine knows alone.
func (i LockedImage) fits() bool {
	if !ImagePinned(i.Pinned) || ImagePinned(i.Name) {
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
