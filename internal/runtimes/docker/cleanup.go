package docker

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"

	"github.com/perstack-go/perstack/internal/owner"
	"github.com/perstack-go/perstack/internal/runtimes/docker/api"
)

// Everything that a run has on the daemon carries these labels from the moment it exists,
// so that it can be found and removed whatever happens to the run.
const (
	labelKind  = "dev.perstack"       // always kindRun
	labelJob   = "dev.perstack.job"   // of the user's
	labelRun   = "dev.perstack.run"   // one start of perstack
	labelOwner = "dev.perstack.owner" // the process; see owner.Identity
)

const kindRun = "run"

// newStart returns the id of this start, for names and labels.
func newStart() string {
	id := make([]byte, 6)
	_, _ = rand.Read(id) // it never fails
	return hex.EncodeToString(id)
}

func ownLabels(jobID, start string) map[string]string {
	return map[string]string{labelKind: kindRun, labelJob: jobID, labelRun: start, labelOwner: owner.This().String()}
}

// ofRuns is the label of what runs of all processes have on the daemon.
const ofRuns = labelKind + "=" + kindRun

// isOrphan reports whether an object with these labels belongs to a process that is
// certainly gone. A list is filtered by the daemon; what is removed is decided here.
func isOrphan(labels map[string]string) bool {
	if labels[labelKind] != kindRun {
		return false
	}
	id, err := owner.Parse(labels[labelOwner])
	return err == nil && id.Dead()
}

// Sweep removes what runs left behind whose process is gone. It never touches what belongs
// to a living process, or to another machine or container that uses the same daemon. A run
// that is just being made is safe: its objects have the labels of a living owner from the
// beginning.
func (d *Daemon) Sweep(ctx context.Context) (containers, networks int, err error) {
	containers, networks, err = d.remove(ctx, isOrphan, ofRuns)
	if err != nil {
		err = fmt.Errorf("remove what ended runs left on the Docker daemon: %w", err)
	}
	return containers, networks, err
}

// closeLimit bounds the clean-up at the end of a run. It takes less than a second unless the
// daemon is busy; the user waits for it.
const closeLimit = 20 * time.Second

// Close removes everything, even if ctx of build is done. It may be called more than once.
func (s *Site) Close() error {
	s.closing.Do(func() {
		s.cancel()
		s.making.Lock() // from here on, make refuses
		ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), closeLimit)
		defer cancel()
		own := func(labels map[string]string) bool { return labels[labelRun] == s.start }
		_, _, err := s.daemon.remove(ctx, own, ofRuns, labelRun+"="+s.start)
		s.making.Unlock() // what still works may wait to be refused
		s.working.Wait()
		if err != nil {
			s.closed = fmt.Errorf("remove what the run has on the Docker daemon: %w", err)
		}
	})
	return s.closed
}

// nameOf returns the name of a container or a network of one start of perstack.
func nameOf(start, what string) string { return "perstack-" + start + "-" + what }

// hasOurName reports whether we named a container. Its labels alone do not say that we made it:
// an image that a user commits from a container of ours gives them to every container on it.
func hasOurName(c container.Summary) bool {
	return slices.ContainsFunc(c.Names, func(name string) bool {
		return strings.HasPrefix(strings.TrimPrefix(name, "/"), nameOf(c.Labels[labelRun], ""))
	})
}

// remove removes the containers and networks that have the labels and that doomed
// confirms, and waits until they are gone. Containers come first: a network cannot be
// removed while one is on it. It returns how many were removed of each.
func (d *Daemon) remove(ctx context.Context, doomed func(labels map[string]string) bool, labels ...string) (containers, networks int, err error) {
	found, err := d.api.Containers(ctx, labels...)
	if err != nil {
		return 0, 0, fmt.Errorf("list containers: %w", err)
	}
	var ids []string
	for _, c := range found {
		if doomed(c.Labels) && hasOurName(c) {
			ids = append(ids, c.ID)
		}
	}
	containers, containersErr := removeAll(ctx, ids, api.IsConflict, d.api.Remove) // another sweep may be removing one

	nets, err := d.api.Networks(ctx, labels...)
	if err != nil {
		return containers, 0, errors.Join(containersErr, fmt.Errorf("list networks: %w", err))
	}
	ids = nil
	for _, n := range nets {
		if doomed(n.Labels) {
			ids = append(ids, n.ID)
		}
	}
	// The daemon takes a container off its networks a moment after it is gone, and refuses
	// until then.
	inUse := func(err error) bool { return api.IsForbidden(err) || api.IsConflict(err) }
	networks, networksErr := removeAll(ctx, ids, inUse, d.api.RemoveNetwork)
	return containers, networks, errors.Join(containersErr, networksErr)
}

const (
	atOnce     = 8                     // requests that a daemon gets at the same time
	retryAfter = 50 * time.Millisecond // between two attempts to remove something that is busy
)

// removeAll removes objects in parallel, and tries again while they are busy. It returns how
// many are gone.
func removeAll(ctx context.Context, ids []string, busy func(error) bool, remove func(ctx context.Context, id string) error) (done int, err error) {
	errs := make([]error, len(ids))
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, id := range ids {
		slots <- struct{}{}
		all.Go(func() {
			errs[i] = removeOne(ctx, id, busy, remove)
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

func removeOne(ctx context.Context, id string, busy func(error) bool, remove func(ctx context.Context, id string) error) error {
	for {
		err := remove(ctx, id)
		switch {
		case err == nil || api.IsNotFound(err):
			return nil
		case !busy(err):
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryAfter):
		}
	}
}
