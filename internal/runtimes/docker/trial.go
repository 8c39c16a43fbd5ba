package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/owner"
	"github.com/perstack-go/perstack/job"
)

// A Trial is what came of a program in the place of the engine.
type Trial struct {
	Stdout  string // its beginning
	Exit    Exit
	Inspect []byte   // what the daemon tells everybody about containers, networks and image
	Tokens  []string // of the listeners of the proxy, which are secrets
	Left    []string // what the daemon still has of the trial, when everything was removed
}

// maxTried bounds what is kept of what the program in a trial writes.
const maxTried = 1 << 20

// Try makes everything that a job of the Spec has on the daemon, runs this program with other
// arguments in the container, instead of the engine, and removes everything again. An audit attacks
// the isolation with it: unlike the engine, such a program does not check the isolation first.
// Nothing is pulled.
func Try(ctx context.Context, spec job.Spec, parts engine.Parts, args []string) (t Trial, err error) {
	r := &runner{spec: spec, parts: parts}
	plan, err := r.plan(ctx)
	if err != nil {
		return t, err
	}
	plan.args = args
	on, err := r.build(ctx, plan, footing{}, func(event.Body) {})
	if err != nil {
		return t, cause(ctx, err)
	}
	defer on.daemon.Close()
	defer func() {
		err = errors.Join(err, on.Close())
		if err == nil {
			t.Left, err = on.daemon.list(context.WithoutCancel(ctx), labelRun+"="+on.start)
		}
	}()
	for _, l := range on.listeners {
		t.Tokens = append(t.Tokens, l.Token)
	}
	c, err := on.Start(ctx)
	if err != nil {
		return t, cause(ctx, err)
	}
	go func() { _, _ = io.Copy(io.Discard, c.Stderr) }() // or the other output blocks
	said := make(chan string, 1)
	go func() {
		data, _ := io.ReadAll(io.LimitReader(c.Stdout, maxTried)) // what is missing shows when it is read
		_, _ = io.Copy(io.Discard, c.Stdout)
		said <- string(data)
	}()
	select {
	case t.Exit = <-c.Exited:
		t.Stdout = <-said
	case err := <-on.Failed:
		return t, err
	case <-ctx.Done():
		return t, context.Cause(ctx)
	}
	t.Inspect, err = on.inspect(ctx)
	return t, err
}

// Gateway stands for an address in the arguments of a trial: the one that this machine would have
// on the network of the container.
const Gateway = "{gateway}"

// trialArgs are the arguments of the program in the container.
func (s *Site) trialArgs() []string {
	args := slices.Clone(s.plan.args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], Gateway, s.inner.gateway.String())
	}
	return args
}

// inspect returns all that the daemon tells about what the run has on it.
func (s *Site) inspect(ctx context.Context) (all []byte, err error) {
	for _, path := range []string{
		"/containers/" + s.name(string(roleRuntime)) + "/json", "/containers/" + s.name(string(roleProxy)) + "/json",
		"/networks/" + s.inner.id, "/images/" + s.plan.image + "/json", "/images/" + s.plan.image + "/history",
	} {
		text, err := s.daemon.api.Raw(ctx, path)
		if err != nil {
			return nil, err
		}
		all = append(all, text...)
	}
	return all, nil
}

// list names the containers and networks with a label.
func (d *Daemon) list(ctx context.Context, label string) (left []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	containers, err := d.api.Containers(ctx, label)
	if err != nil {
		return nil, err
	}
	for _, c := range containers {
		left = append(left, "container "+c.ID)
	}
	networks, err := d.api.Networks(ctx, label)
	for _, n := range networks {
		left = append(left, "network "+n.Name)
	}
	return left, err
}

// TrySweep makes a network as a killed run would leave it behind, removes what killed runs left,
// and returns what of it is still there. If this process is killed meanwhile, the next run removes
// the network.
func TrySweep(ctx context.Context, parts engine.Parts) (left []string, err error) {
	r := &runner{parts: parts}
	d, err := Connect(ctx, r.getenv, cmp.Or(r.getenv("HOME"), r.getenv("USERPROFILE")))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	gone := owner.This()
	gone.StartTime = "1" // a process of the same number, long ago
	start := newStart()
	options := innerOptions(d.Version, map[string]string{labelKind: kindRun, labelRun: start, labelOwner: gone.String()})
	options.Name = nameOf(start, "inner")
	id, err := d.api.CreateNetwork(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("make a network: %w", err)
	}
	if _, _, err := d.Sweep(ctx); err != nil {
		return nil, err
	}
	if left, err = d.list(ctx, labelRun+"="+start); len(left) > 0 {
		err = errors.Join(err, d.api.RemoveNetwork(ctx, id))
	}
	return left, err
}
