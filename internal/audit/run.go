package audit

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Options say how probes are run.
type Options struct {
	Parallel int           // probes at a time; 0 means 2
	Timeout  time.Duration // for one probe; 0 means 60 seconds
	// Progress is told when a probe begins and when it ends, one call at a time, with the ids of the
	// promises that are being tested.
	Progress func(done, of int, testing []string)
}

// Run runs the probes of all promises, and returns one claim for each, in their order. It ends
// early with the cause of ctx.
func Run(ctx context.Context, promises []Promise, o Options) ([]Claim, error) {
	if o.Parallel <= 0 {
		o.Parallel = 2
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	claims := make([]Claim, len(promises))
	places := make(chan struct{}, o.Parallel)
	var group sync.WaitGroup
	var telling sync.Mutex
	done, testing := 0, []string(nil)
	tell := func(change func()) {
		telling.Lock()
		defer telling.Unlock()
		change()
		if o.Progress != nil {
			o.Progress(done, len(promises), slices.Clone(testing))
		}
	}
	for i, p := range promises {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			if ctx.Err() != nil {
				return
			}
			tell(func() { testing = append(testing, p.ID) })
			claim := p.claim(p.try(ctx, o.Timeout))
			if ctx.Err() != nil {
				return // what was found while the audit was stopped means nothing
			}
			claims[i] = claim
			tell(func() {
				done++
				testing = slices.DeleteFunc(testing, func(id string) bool { return id == p.ID })
			})
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return claims, nil
}

// try runs the probe. One that does not end is left behind: hostile input that makes our code
// hang is what some probes look for.
func (p Promise) try(ctx context.Context, timeout time.Duration) Result {
	if p.Probe == nil {
		return Skip("%s", p.WhyNot)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ended := make(chan Result, 1)
	go func() { ended <- p.Probe(ctx) }()
	select {
	case r := <-ended:
		return r
	case <-ctx.Done():
	}
	select { // a probe that heeds its context says more than we can
	case r := <-ended:
		return r
	case <-time.After(time.Second):
		return Result{Status: Failed, Reason: fmt.Sprintf("the probe did not end within %s", timeout)}
	}
}

func (p Promise) claim(r Result) Claim {
	c := Claim{ID: p.ID, Area: p.Area, Promise: p.Text, Status: r.Status, Runtime: r.Runtime, Reason: r.Reason, Evidence: r.Evidence, Test: p.Test}
	if c.Status == "" { // a probe that says nothing has proved nothing
		c.Status, c.Reason = Unavailable, "the probe gave no result"
	}
	return c
}

// attacks says, by area, who would use a broken promise and how.
var attacks = map[string]string{
	"Network":     "A skill, or a command that the model was persuaded to run, sends data to a host that the Expert does not name.",
	"Container":   "A program in the container gets more of the machine than the workspace.",
	"Environment": "A skill or a command reads a key that it was not given, or makes another program load its code.",
	"Commands":    "A text that the model read makes it run a command that does more than its arguments say, or that outlives the run.",
	"Files":       "A prepared workspace, or a program that runs beside the tools, makes a file tool read or change files elsewhere.",
	"Skills":      "An MCP server changes after it was reviewed, offers tools that were left out, or exhausts perstack.",
	"State":       "A program changes or forges the record of a job, or reads what other Experts were told.",
	"Registry":    "A server delivers other bytes than those that were reviewed, or gets a key that is not meant for it.",
	"Adapters":    "A text becomes a flag of an external program.",
	"Terminal":    "Text of a model or a tool acts on the terminal, or hides what is shown.",
	"Models":      "A server gets a key that is not meant for it, or exhausts perstack with its answer.",
	"Trust":       "A job changes what a later run believes, or a cloned repository answers for the user.",
}

// Findings are the promises that do not hold.
func Findings(promises []Promise, claims []Claim, version string) (found []Finding) {
	for i, c := range claims {
		if c.Status != Failed {
			continue
		}
		found = append(found, Finding{
			Kind: brokenPromise + c.ID, Fingerprint: fingerprint(brokenPromise + c.ID),
			Severity: promises[i].Severity, Status: Open,
			Title: "promise " + c.ID + " does not hold on this machine", Package: "perstack " + version,
			Location:    c.Runtime,
			Description: c.Promise + " The probe found: " + c.Reason,
			Affected:    "promise " + c.ID + ", proved by " + c.Test,
			Attack:      attacks[c.Area],
			Fix:         "Do not rely on this promise here. Update perstack and the system, then audit again; if it still fails, report it as SECURITY.md says.",
			File:        "SECURITY.md",
		})
	}
	return found
}
