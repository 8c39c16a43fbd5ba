package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
)

// closeLimit bounds the clean-up. Whoever ends perstack waits for it: for less than a
// second as a rule, for longer if the daemon has much to do. What is left behind costs
// the user more than the wait.
const closeLimit = 20 * time.Second

// Close removes everything, also if ctx of Build is done. It may be called more than once.
func (s *Site) Close() error {
	s.closing.Do(func() {
		s.cancel()
		s.making.Lock() // whoever comes later finds that the site is closed
		defer s.making.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), closeLimit)
		defer cancel()
		_, _, err := s.daemon.remove(ctx, ofStart(s.start), func(labels map[string]string) bool { return labels[labelRun] == s.start })
		s.working.Wait()
		if err != nil {
			s.closed = fmt.Errorf("remove what the run has on the Docker daemon: %w", err)
		}
	})
	return s.closed
}

// remove removes the containers and networks that the filters find and that doomed
// confirms, and waits until they are gone. Containers go first: a network cannot go
// while one is on it. It returns how many there were of each.
func (d *Daemon) remove(ctx context.Context, filters client.Filters, doomed func(labels map[string]string) bool) (containers, networks int, err error) {
	found, _, err := d.listed(ctx, filters)
	if err != nil {
		return 0, 0, err
	}
	var these batch
	for _, c := range found {
		if doomed(c.Labels) {
			these.add(func() error { return d.removeContainer(ctx, c.ID) })
		}
	}
	containers, containersErr := these.run()

	_, nets, err := d.listed(ctx, filters)
	if err != nil {
		return containers, 0, errors.Join(containersErr, err)
	}
	var those batch
	for _, n := range nets {
		if doomed(n.Labels) {
			those.add(func() error { return d.removeNetwork(ctx, n.ID) })
		}
	}
	networks, networksErr := those.run()
	return containers, networks, errors.Join(containersErr, networksErr)
}

// listed returns the containers and networks that the filters find.
func (d *Daemon) listed(ctx context.Context, filters client.Filters) ([]container.Summary, []network.Summary, error) {
	containers, err := d.api.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: filters})
	if err != nil {
		return nil, nil, fmt.Errorf("list containers: %w", err)
	}
	networks, err := d.api.NetworkList(ctx, client.NetworkListOptions{Filters: filters})
	if err != nil {
		return nil, nil, fmt.Errorf("list networks: %w", err)
	}
	return containers.Items, networks.Items, nil
}

// removeContainer kills a container and removes it. If another sweep is at it already, it
// waits until that is done.
func (d *Daemon) removeContainer(ctx context.Context, id string) error {
	return again(ctx, func() (bool, error) {
		_, err := d.api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		if errdefs.IsNotFound(err) {
			return true, nil
		}
		return err == nil || !errdefs.IsConflict(err), err
	})
}

// removeNetwork removes a network. The daemon takes a container off its networks a moment
// after it is gone; until then it refuses.
func (d *Daemon) removeNetwork(ctx context.Context, id string) error {
	return again(ctx, func() (bool, error) {
		_, err := d.api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
		if errdefs.IsNotFound(err) {
			return true, nil
		}
		return err == nil || !errdefs.IsPermissionDenied(err) && !errdefs.IsConflict(err), err
	})
}

// retryAfter is the pause between two attempts to remove something that is busy.
const retryAfter = 50 * time.Millisecond

// again calls do until it is done, or ctx is.
func again(ctx context.Context, do func() (done bool, err error)) error {
	for {
		done, err := do()
		if done {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryAfter):
		}
	}
}

// A batch is work that is done side by side.
type batch []func() error

func (b *batch) add(do func() error) { *b = append(*b, do) }

// atOnce bounds the requests that a daemon gets at the same time.
const atOnce = 8

// run does the work and returns how much of it succeeded.
func (b batch) run() (done int, err error) {
	errs := make([]error, len(b))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, do := range b {
		slots <- struct{}{}
		all.Go(func() {
			errs[i] = do()
			<-slots
		})
	}
	all.Wait()
	for _, err := range errs {
		if err == nil {
			done++
		}
	}
	return done, errors.Join(errs...)
}
