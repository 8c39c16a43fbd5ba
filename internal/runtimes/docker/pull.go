package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/runtimes/docker/api"
	"github.com/perstack-go/perstack/internal/terminal"
)

// obtain returns the id of a pinned image. One that is not on the daemon is pulled by its
// digest: from wherever it comes, it is the one that was pinned.
func (d *Daemon) obtain(ctx context.Context, pinned string, from Sources, report func(event.Body)) (id string, err error) {
	r, err := parsePinned(pinned)
	if err != nil {
		return "", err
	}
	places, err := r.places(from)
	if err != nil {
		return "", err
	}
	for _, place := range append(places, r) {
		id, err := d.holds(ctx, place)
		if id != "" || err != nil {
			return id, err
		}
	}
	switch {
	case r.id != "":
		return "", &absentError{r.id}
	case from.Offline:
		return "", fmt.Errorf("the image %s is not on this daemon, and [docker] offline does not let it be pulled; get it with: docker pull %s", r, r.content())
	}
	var failed error
	for _, place := range places {
		err := d.pull(ctx, place, report)
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err == nil {
			// What the daemon has is looked at, not what it was told.
			if id, err = d.holds(ctx, place); id != "" {
				return id, nil
			}
			if err == nil {
				err = errors.New("what came is not what was pinned")
			}
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", place, err))
	}
	return "", fmt.Errorf("the image %s cannot be pulled; docker pull %s shows why, and knows the registries that you are logged in to: %w", r.called(), r.content(), failed)
}

// Holds returns an error if the daemon does not have a pinned image, and the sources do not
// let it be pulled.
func (d *Daemon) Holds(ctx context.Context, pinned string, from Sources) error {
	_, err := d.obtain(ctx, pinned, from, func(event.Body) {})
	return err
}

// An absentError is about an image that is pinned by its id, and is not on the daemon.
type absentError struct{ id string }

func (e *absentError) Error() string {
	return fmt.Sprintf("the image %s is not on this daemon, and an id says nothing of where it comes from; load it, or pin it by name@sha256:…", e.id)
}

// holds returns the id of a pinned image, or "" if the daemon does not have it. A name with
// a digest is the daemon's word that the registry had it by that digest; it is compared
// nevertheless.
func (d *Daemon) holds(ctx context.Context, r reference) (id string, err error) {
	found, err := d.inspect(ctx, r.content())
	if err != nil || found == nil {
		return "", err
	}
	known := r.id == found.ID
	if r.digest != "" {
		known = slices.ContainsFunc(found.RepoDigests, func(known string) bool { return strings.HasSuffix(known, "@"+r.digest) })
	}
	if !known {
		return "", nil
	}
	return found.ID, nil
}

func (d *Daemon) pull(ctx context.Context, r reference, report func(event.Body)) error {
	report(progress("pulling", "pulling "+r.called()))
	layers := &pulled{name: r.called(), report: report, parts: make(map[string]part)}
	err := d.api.Pull(ctx, r.name, r.digest, func(p api.Progress) {
		if p.Status == "Downloading" {
			layers.tell(p.Layer, p.Current, p.Total)
		}
	})
	if err != nil {
		return clean(err)
	}
	return nil
}

// clean makes what a registry says safe to show.
func clean(err error) error { return errors.New(terminal.CleanLine(err.Error())) }

// pulled adds up how much of an image has come.
type pulled struct {
	name   string
	report func(event.Body)
	parts  map[string]part
	next   int64 // tenth to be reported
}

type part struct{ current, total int64 }

// maxLayers is what daemons take.
const maxLayers = 200

// tell reports in tenths: each report is kept in the history of the run. How large the
// image is shows while its layers begin to come, so the tenths are those of what is known.
func (p *pulled) tell(layer string, current, total int64) {
	if _, known := p.parts[layer]; !known && len(p.parts) >= maxLayers || total <= 0 {
		return
	}
	p.parts[layer] = part{min(current, total), total}
	var sum part
	for _, l := range p.parts {
		sum.current += l.current
		sum.total += l.total
	}
	if p.next > 10 || sum.current*10 < p.next*sum.total {
		return
	}
	p.report(share("pulling", "pulling "+p.name, sum.current, sum.total, float64(sum.current)/float64(sum.total)))
	p.next = sum.current*10/sum.total + 1
}
