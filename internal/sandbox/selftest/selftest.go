// Package selftest finds out, from inside, whether the walls of a sandbox stand. It tries
// what must fail and looks at what the kernel says of this process. It changes nothing and
// decides nothing: whoever asks must not run if a check fails.
//
// A wall that is there is silent, so a check cannot wait until it is sure. It waits as long
// as a neighbour needs to answer. What it proves is that the walls were put up, not that
// they could never fall.
//
// Start reading at [Run].
package selftest

import (
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

// A Spec says what is to be found.
type Spec struct {
	Gateway netip.Addr // that the host would have on our network; it must be dead
	Proxy   *url.URL   // that must answer, and must refuse an outside host; with its token
	Masked  []string   // paths that must show nothing
	Work    string     // the workspace
	// ReadOnlyWork says that the workspace must not be writable.
	ReadOnlyWork bool
	// SharedCell says that skills are not kept apart from each other: nobody looks whether
	// they could be.
	SharedCell bool
	// Tokenless says that the proxy asks for no token.
	Tokenless bool
}

// A Result is the outcome of one check.
type Result struct {
	Name   string
	OK     bool
	Detail string // what was found, in one line
}

const (
	// silence is how long an answer is waited for that must not come.
	silence = 600 * time.Millisecond
	// answer is how long the proxy may take, which must answer.
	answer = 5 * time.Second
)

// A check looks at one wall. What it finds is an error if the wall does not stand.
type check struct {
	name string
	look func(context.Context, Spec) (found string, err error)
}

// Run makes all checks, side by side, and returns their outcomes in a fixed order.
func Run(ctx context.Context, spec Spec) []Result { return run(ctx, spec, checks()) }

func run(ctx context.Context, spec Spec, all []check) []Result {
	results := make([]Result, len(all))
	var group sync.WaitGroup
	for i, c := range all {
		group.Go(func() {
			found, err := c.look(ctx, spec)
			if ctx.Err() != nil {
				err = context.Cause(ctx) // what was silent may not have had its time
			}
			results[i] = Result{Name: c.name, OK: err == nil, Detail: found}
			if err != nil {
				results[i].Detail = err.Error()
			}
		})
	}
	group.Wait()
	return results
}

// Err says which checks failed, and what they found; nil if all walls stand. That nothing
// was checked is a failure too.
func Err(results []Result) error {
	if len(results) == 0 {
		return fmt.Errorf("nothing was checked")
	}
	var failed []string
	for _, r := range results {
		if !r.OK {
			failed = append(failed, r.Name+" ("+r.Detail+")")
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(failed, ", "))
}
