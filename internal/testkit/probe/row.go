package probe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// What can come of an attack.
const (
	Reached = "reached" // somebody outside answered
	Refused = "refused" // the proxy said no
	Cut     = "cut"     // the proxy opened a tunnel and closed it again before anything came back
	Dead    = "dead"    // there was no answer
	Denied  = "denied"  // the kernel said no
	Absent  = "absent"  // it does not exist
	Empty   = "empty"   // it is there and shows nothing
	Found   = "found"   // it is there, and should not be
	Held    = "held"    // a limit, or a rule of the kernel, is in force
	Broken  = "broken"  // the probe itself failed
)

// A Row is one attack.
type Row struct {
	ID      string // short, unique
	Promise string // that it tests: rows of security.md, and of the attack tables
	What    string // in plain words
	Want    []string

	// Event is what the journal must have of it, one a line: "allowed host", "blocked
	// reason host" or "any host", each at port 443 unless it ends in a port of its own; what
	// is left out from the right may be anything. Empty if nothing.
	Event string
	// Why says what Squid does otherwise; empty if nothing.
	Why string
	// Asks is the name that the name server may hear of because of it.
	Asks string

	alone bool // nothing else may run beside it
	run   func(ctx context.Context, p *Probe) Result
}

// A Result is what came of a row.
type Result struct {
	Row     string `json:"row"`
	Tried   int    `json:"tried"` // connections to the proxy that said something
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitzero"`
}

// Holds reports whether a result is one that the row wants.
func (r Row) Holds(got Result) bool { return slices.Contains(r.Want, got.Outcome) }

// A Probe runs rows.
type Probe struct {
	Config
	Environ []string // of the process
	Home    string
}

// patience is how long one attempt may take: a packet that was dropped gets no answer.
const patience = 2500 * time.Millisecond

// sideBySide is how many rows run at once.
const sideBySide = 12

// Run runs rows, side by side where they allow it, and returns the results in the order
// of the rows.
func (p *Probe) Run(ctx context.Context, rows []Row) []Result {
	results := make([]Result, len(rows))
	var wait sync.WaitGroup
	slots := make(chan struct{}, sideBySide)
	for i, row := range rows {
		if row.alone {
			continue
		}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			results[i] = p.one(ctx, row)
		})
	}
	wait.Wait()
	for i, row := range rows {
		if row.alone {
			results[i] = p.one(ctx, row)
		}
	}
	return results
}

func (p *Probe) one(ctx context.Context, row Row) (r Result) {
	defer func() {
		if v := recover(); v != nil { // one broken row must not hide the others
			r = Result{Outcome: Broken, Detail: fmt.Sprint(v)}
		}
		r.Row = row.ID
		r.Detail = strings.ToValidUTF8(r.Detail[:min(len(r.Detail), 600)], "?")
	}()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return row.run(ctx, p)
}

// Rows is the table for a config.
func Rows(c Config) []Row {
	switch c.Group {
	case GroupSkill:
		return skillRows(c)
	case GroupDried:
		return driedRows(c)
	}
	rows := slices.Concat(requestRows(c), spellingRows(c), addressRows(c), helloRows(c), tokenRows(c))
	if c.Group != GroupProxy {
		rows = slices.Concat(routeRows(c), nameRows(c), rows, listenerRows(c))
	}
	if c.Group != GroupProxy && c.Group != GroupEach {
		rows = slices.Concat(rows, harvestRows(c), kernelRows(c), limitRows(c))
	}
	if c.Sandboxes {
		rows = inSandbox(rows)
	}
	if c.Squid {
		rows = withSquid(rows)
	}
	return rows
}
