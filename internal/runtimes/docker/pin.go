package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/terminal"
)

// Sources are where images come from that are not on the daemon.
type Sources struct {
	Mirrors []string // asked first, in this order, for images whose name has no host
	Offline bool     // no registry is asked
	Fresh   bool     // registries are asked also about what is there; for [Daemon.Pin]
}

// A reference is the name of an image: name[:tag][@sha256:digest], or an id.
type reference struct {
	name   string // with its host; empty for an id
	tag    string
	digest string // sha256: and 64 digits
	id     string // the same, of the image itself
}

// parseReference is strict, because what it lets pass becomes part of a path of the
// daemon's API, and of hints that people paste into a shell.
func parseReference(s string) (reference, error) {
	message, hint := manifest.ImageReference(s)
	if message != "" {
		return reference{}, fmt.Errorf("%s; %s", message, hint)
	}
	// In the grammar, an id is an image called sha256 with a long tag. Daemons take it for
	// the id, so nothing else may be called so.
	if strings.HasPrefix(s, "sha256:") || s == "sha256" {
		if !manifest.ImagePinned(s) || strings.Contains(s, "@") {
			return reference{}, fmt.Errorf("%q is not the id of an image; write sha256: and 64 digits in hex", s)
		}
		return reference{id: s}, nil
	}
	name, digest, _ := strings.Cut(s, "@")
	r := reference{name: name, digest: digest}
	if colon := strings.LastIndexByte(name, ':'); colon > strings.LastIndexByte(name, '/') {
		r.name, r.tag = name[:colon], name[colon+1:]
	}
	return r, nil
}

func (r reference) String() string {
	if r.id != "" {
		return r.id
	}
	s := r.called()
	if r.digest != "" {
		s += "@" + r.digest
	}
	return s
}

// called is how people call the image.
func (r reference) called() string {
	switch {
	case r.id != "":
		return r.id
	case r.tag != "":
		return r.name + ":" + r.tag
	}
	return r.name
}

// content is what the daemon is asked for: the digest alone counts, and a tag beside it
// could only confuse.
func (r reference) content() string {
	if r.id != "" {
		return r.id
	}
	return r.name + "@" + r.digest
}

func (r reference) pinned() bool { return r.id != "" || r.digest != "" }

// parsePinned takes what says which content is meant.
func parsePinned(s string) (reference, error) {
	r, err := parseReference(s)
	if err == nil && !r.pinned() {
		err = &PinError{Err: fmt.Errorf("the image %s is not pinned", s)}
	}
	return r, err
}

// hasHost reports whether a name begins with a host. Daemons decide it so.
func (r reference) hasHost() bool {
	first, _, more := strings.Cut(r.name, "/")
	return more && (strings.ContainsAny(first, ".:") || first == "localhost")
}

// places are where an image is looked for: in the mirrors, then in its own registry. A
// name with a host is that host's: a mirror may have another image under the
// rest of it.
func (r reference) places(from Sources) ([]reference, error) {
	var places []reference
	if r.id != "" {
		return nil, nil
	}
	for _, m := range from.Mirrors {
		if r.hasHost() {
			break
		}
		path := r.name
		if !strings.Contains(path, "/") {
			path = "library/" + path // what a name of one word is short for
		}
		place := r
		place.name = m + "/" + path
		if again, err := parseReference(place.String()); err != nil || again != place || !again.hasHost() {
			return nil, fmt.Errorf("the mirror %q is not the address of a registry; write it like mirror.example:5000", m)
		}
		places = append(places, place)
	}
	return append(places, r), nil
}

// Pin says by its content which image a name stands for now: the one on the daemon; else
// the one that the registry has; else, for one that is on this daemon alone, its id.
func (d *Daemon) Pin(ctx context.Context, name string, from Sources) (string, error) {
	r, err := parseReference(name)
	if err != nil || r.pinned() {
		return name, err
	}
	places, err := r.places(from)
	if err != nil {
		return "", err
	}
	here, err := d.inspect(ctx, r.called())
	if err != nil {
		return "", err
	}
	local := ""
	if here != nil {
		local = digestOf(here.RepoDigests, places)
	}
	if local != "" && (!from.Fresh || from.Offline) {
		return r.with(local)
	}
	var failed error
	if !from.Offline {
		for _, place := range places {
			found, err := d.api.InRegistry(ctx, place.called())
			if err == nil {
				return r.with(string(found.Descriptor.Digest))
			}
			if ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			failed = errors.Join(failed, fmt.Errorf("%s: %s", place.called(), terminal.CleanLine(err.Error())))
		}
	}
	switch {
	case local != "":
		return r.with(local)
	case here != nil:
		pinned, err := parsePinned(here.ID)
		return pinned.String(), err
	case from.Offline:
		return "", fmt.Errorf("the image %s is not on this daemon, and [docker] offline forbids asking a registry; get it with: docker pull %s", name, name)
	}
	return "", fmt.Errorf("the image %s is neither on this daemon nor in a registry that it reaches; docker pull %s shows why: %w", name, name, failed)
}

// with returns the reference with a digest from the daemon or a registry.
func (r reference) with(digest string) (string, error) {
	r.digest = digest
	again, err := parseReference(r.String())
	if err == nil && (again != r || digest == "") {
		err = fmt.Errorf("the digest of the image %s is not understood: %q", r.called(), terminal.CleanLine(digest))
	}
	return r.String(), err
}

// digestOf finds the digest under which an image is in one of the places where it is looked
// for. That another registry has it is no help: a pin by that digest could not be pulled.
func digestOf(repoDigests []string, places []reference) string {
	for _, known := range repoDigests {
		found, err := parseReference(known)
		if err == nil && found.digest != "" && slices.ContainsFunc(places, func(p reference) bool { return p.name == found.name }) {
			return found.digest
		}
	}
	return ""
}
