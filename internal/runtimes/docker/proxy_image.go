package docker

import (
	"context"
	"fmt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/job"
)

// proxyImage returns the id of the image that the proxy runs in: the run's own, unless the
// proxy is Squid. Then it is the user's image of Squid with our program on top, which
// starts it. parts are those of the run's image; base has been resolved: it is an image
// that the daemon has, by its id or its pinned name.
func (d *Daemon) proxyImage(ctx context.Context, proxy, base string, parts ImageSpec, report func(event.Body)) (string, error) {
	if proxy != job.ProxySquid {
		return "", nil
	}
	if base == "" {
		return "", fmt.Errorf("proxy = %q needs an image that has Squid; name one, pinned: squidImage in [docker]", job.ProxySquid)
	}
	id, err := d.Image(ctx, ImageSpec{Binary: parts.Binary, Roots: parts.Roots, Base: base}, report)
	if err != nil {
		return "", fmt.Errorf("squidImage: %w", err)
	}
	return id, nil
}
