// Package sweep proves that nothing is lost when perstack is killed. It runs jobs in
// processes of their own (victims), kills each at one failpoint, resumes in a new
// process, and compares the history with that of a run that was not killed.
//
// There is a failpoint after every operation on the disk, every record, every event that
// was shown, and around every call of a model and of a tool. What a kill may change is
// listed in cut.go; anything else is reported.
//
// A victim is the program that calls [Run], started again: it must call [VictimIfAsked]
// before it does anything else. To repeat by hand what a test reports, make a
// directory with an empty directory workspace in it, and run
//
//	go test -c ./test/sweep
//	./sweep.test sweep-victim DIR JOB FAILPOINT ""
//
// once for each failpoint of the report, and finally with 0. With several Runs at once
// the number of a failpoint is not the same each time; go by its name.
//
// Start reading at [Run], then victim.go and compare.go.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Options say what is swept.
type Options struct {
	Program  string // whose main calls VictimIfAsked
	Dir      string // an empty directory to work in
	Jobs     []Job
	Every    int    // kill at each n-th failpoint; 0 means at all
	Seed     uint64 // chooses the failpoints of what follows, and where Every begins
	Again    int    // for each job, so many trials whose resumed processes are killed as well
	PowerCut int    // the same, of jobs that lose what was not flushed as well
	Signals  int    // the same, of jobs that are told to stop, and are resumed
	Overtake int    // the same, of jobs that are killed, and continue with another query
	Takes    int    // the same, of jobs whose journal another program takes away
	Parallel int    // victims at once

	// Sabotage names a fault that resumed victims have, by which a test sees that the
	// sweep can fail.
	Sabotage string
}

// A Summary is what a sweep found.
type Summary struct {
	Failpoints int
	Kills      int
	Losses     int // of what was recorded, or shown, before a kill
	Repeats    int // of calls and generations that were recorded, and of effects
	Taken      int // journals that were taken away from a running process
	Attacks    int // on the history of a killed job, without its key
	Held       int // of these
	Kinds      map[string]int
	Findings   []string // every loss, repeat and unexpected difference, with its failpoint
}

// String is the line that is printed.
func (s Summary) String() string {
	return fmt.Sprintf("failpoints %d, kills %d, losses %d, repeats %d, journals taken away %d, attacks on the history %d, held %d",
		s.Failpoints, s.Kills, s.Losses, s.Repeats, s.Taken, s.Attacks, s.Held)
}

// Add adds what another sweep found.
func (s *Summary) Add(o Summary) {
	s.Failpoints += o.Failpoints
	s.Kills += o.Kills
	s.Losses += o.Losses
	s.Repeats += o.Repeats
	s.Taken += o.Taken
	s.Attacks += o.Attacks
	s.Held += o.Held
	s.Findings = append(s.Findings, o.Findings...)
	if s.Kinds == nil {
		s.Kinds = map[string]int{}
	}
	for kind, n := range o.Kinds {
		s.Kinds[kind] += n
	}
}

// Run sweeps. An error means that the sweep itself could not be carried out; what it
// found is in the summary.
func Run(ctx context.Context, opts Options) (Summary, error) {
	s := &sweep{Options: opts, Summary: Summary{Kinds: map[string]int{}}}
	for _, job := range opts.Jobs {
		if err := s.job(ctx, job); err != nil {
			return s.Summary, fmt.Errorf("job %s: %w", job.Name, err)
		}
	}
	return s.Summary, nil
}

type sweep struct {
	Options
	mu sync.Mutex
	Summary
}

// A trial is one job that is killed and resumed, in a directory of its own.
type trial struct {
	job      Job
	dir      string
	kills    []int // failpoints, one a process; negative for an interrupt
	sabotage string
	powerCut bool // what was not flushed is lost
}

// job sweeps the failpoints of one job.
func (s *sweep) job(ctx context.Context, job Job) error {
	whole := trial{job: job, dir: filepath.Join(s.Dir, job.Name)}
	if err := whole.make(); err != nil {
		return err
	}
	if _, err := s.start(ctx, whole, 0, ""); err != nil {
		return err
	}
	reference, err := whole.look(ctx)
	if err != nil {
		return err
	}
	names, err := whole.points()
	if err != nil {
		return err
	}
	s.Failpoints += len(names)
	for _, name := range names {
		kind, _, _ := strings.Cut(name, " ")
		s.Kinds[kind]++
	}
	if err := os.RemoveAll(whole.dir); err != nil {
		return err
	}
	return s.all(ctx, s.trials(job, len(names)), reference)
}

// trials chooses where a job is killed.
func (s *sweep) trials(job Job, points int) []trial {
	chance := rand.New(rand.NewPCG(s.Seed, uint64(points)))
	every, first := max(s.Every, 1), 1
	if every > 1 {
		first += chance.IntN(every)
	}
	var all []trial
	add := func(sabotage string, kills ...int) {
		all = append(all, trial{job, filepath.Join(s.Dir, fmt.Sprintf("%s-%d", job.Name, len(all))), kills, sabotage, false})
	}
	for n := first; n <= points; n += every {
		add(s.Sabotage, n)
	}
	for range s.Again {
		kills := []int{1 + chance.IntN(points)}
		for range 1 + chance.IntN(4) {
			kills = append(kills, 1+chance.IntN(max(points/2, 1)))
		}
		add(s.Sabotage, kills...)
	}
	for range s.PowerCut {
		add(s.Sabotage, 1+chance.IntN(points), 1+chance.IntN(max(points/2, 1)))
		all[len(all)-1].powerCut = true
	}
	for range s.Signals {
		add(s.Sabotage, -1-chance.IntN(points), -1-chance.IntN(points))
	}
	for range s.Overtake {
		add(somethingElse, 1+chance.IntN(points))
	}
	ways := slices.Sorted(maps.Keys(takes))
	for i := range s.Takes {
		add(ways[i%len(ways)], 1+chance.IntN(points))
	}
	return all
}

// all carries out trials, as many at once as the machine has processors.
func (s *sweep) all(ctx context.Context, trials []trial, reference *account) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan trial)
	var workers sync.WaitGroup
	for range max(s.Parallel, 1) {
		workers.Go(func() {
			for t := range next {
				if err := s.try(ctx, t, reference); err != nil {
					cancel(fmt.Errorf("killed at %v: %w", t.kills, err))
				}
			}
		})
	}
	for _, t := range trials {
		select {
		case next <- t:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// try kills a job, resumes it and compares.
func (s *sweep) try(ctx context.Context, t trial, reference *account) error {
	if err := t.make(); err != nil {
		return err
	}
	if takes[t.sabotage] != nil {
		return s.take(ctx, t)
	}
	var where []string
	var cuts []*account // what there was at each kill
	var accepted []finding
	for _, n := range t.kills {
		point, err := s.start(ctx, t, n, t.faultOfAll())
		if err != nil {
			return err
		}
		if point == "" {
			break // it had fewer failpoints than the one before, and came to its end
		}
		if t.powerCut {
			if err := t.cutPower(); err != nil {
				return err
			}
		}
		seen, err := t.look(ctx)
		if err != nil {
			return fmt.Errorf("at %s: %w", point, err)
		}
		where, cuts = append(where, point), append(cuts, seen)
		wrong, err := s.attack(ctx, t)
		if err != nil {
			return fmt.Errorf("at %s: %w", point, err)
		}
		accepted = append(accepted, wrong...)
	}
	var final *account
	_, err := s.start(ctx, t, 0, t.sabotage)
	if err == nil {
		final, err = t.look(ctx)
	}
	var found []finding
	if err != nil { // a job that cannot be resumed is lost altogether
		found = []finding{{loss, "it cannot be resumed: " + err.Error()}}
	} else {
		found = compare(t, reference, cuts, final)
	}
	found = append(found, accepted...)
	s.report(t, where, found)
	if len(found) > 0 {
		return nil // the directory stays, so that you can look into it
	}
	return os.RemoveAll(t.dir)
}

// attack attacks the history of a killed job, and counts.
func (s *sweep) attack(ctx context.Context, t trial) (found []finding, err error) {
	tried, accepted, err := t.attack(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Attacks += tried
	s.Held += tried - len(accepted)
	for _, name := range accepted {
		found = append(found, finding{change, "a history was accepted that was " + name})
	}
	return found, err
}

// take runs a job whose journal is taken away at a failpoint.
func (s *sweep) take(ctx context.Context, t trial) error {
	point, failure := s.start(ctx, t, t.kills[0], t.sabotage)
	if point != "" {
		s.mu.Lock()
		s.Taken++
		s.mu.Unlock()
	}
	if point == "" && failure != nil {
		return failure
	}
	if found := took(point, failure); point != "" && len(found) > 0 {
		s.report(t, []string{t.sabotage + " at " + point}, found)
		return nil
	}
	return os.RemoveAll(t.dir)
}

func (s *sweep) report(t trial, where []string, found []finding) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range t.kills[:len(where)] {
		if n > 0 && takes[t.sabotage] == nil {
			s.Kills++
		}
	}
	for _, f := range found {
		switch f.kind {
		case loss:
			s.Losses++
		case repeat:
			s.Repeats++
		}
		s.Findings = append(s.Findings, fmt.Sprintf("%s, killed at %v (%s): %s: %s", t.job.Name, t.kills, strings.Join(where, "; "), f.kind, f.what))
	}
}

// make prepares the directory of a trial.
func (t trial) make() error {
	if err := os.MkdirAll(filepath.Join(t.dir, workspaceName), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.dir, workspaceName, "notes.txt"), []byte("what was there\n"), 0o600)
}

// start runs a victim until it ends, and returns the failpoint that was meant for it, or
// "" if it did not come that far. An error is a victim that failed by itself.
func (s *sweep) start(ctx context.Context, t trial, killAt int, sabotage string) (point string, err error) {
	var said strings.Builder
	cmd := exec.CommandContext(ctx, s.Program, victimArgs(t.dir, t.job.Name, killAt, sabotage)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.dir, &said, &said
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // else each would sleep for a second
	err = cmd.Run()
	mark, markErr := os.ReadFile(filepath.Join(t.dir, markName))
	if markErr == nil {
		markErr = os.Remove(filepath.Join(t.dir, markName))
	}
	var exit *exec.ExitError
	if killed := errors.As(err, &exit) && !exit.Exited() && killAt > 0; err != nil && (!killed || markErr != nil) {
		return string(mark), fmt.Errorf("a victim ended with %w: %s", err, said.String())
	}
	return string(mark), nil
}
