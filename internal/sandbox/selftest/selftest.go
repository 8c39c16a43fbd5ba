// Package selftest checks, from inside, whether a sandbox isolates this process. It tries
// what must fail and reads what the kernel says about this process. It changes nothing and
// decides nothing: the caller must not run anything if a check fails.
//
// A blocked connection gives no answer, so a check waits as long as a host on the same
// network needs to answer. It proves that the isolation was set up, not that it cannot be
// broken.
//
// Start reading at [Run].
package selftest

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
)

// A Spec says what the checks expect.
type Spec struct {
	Gateway netip.Addr // the address the host would have on our network; it must not answer
	Proxy   *url.URL   // with its token; it must answer, and refuse an outside host
	Masked  []string   // paths that must show nothing
	Work    string     // the workspace
	// ReadOnlyWork says that the workspace must not be writable.
	ReadOnlyWork bool
	// SharedSandbox says that skills are not isolated from each other, so that is not checked.
	SharedSandbox bool
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
	// silence is how long a check waits for an answer that must not come.
	silence = 600 * time.Millisecond
	// answer is how long the proxy may take to answer.
	answer = 5 * time.Second
)

// Sandboxes is the check whether skills can be isolated from each other.
const Sandboxes = "sandboxes"

// ShareSandbox is the hint for kernels that fail this check. Programs that have a flag for
// it add the flag.
const ShareSandbox = "let all skills share one sandbox"

// A check examines one part of the isolation. It returns an error if that part is missing.
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
				err = context.Cause(ctx) // silence may only mean that there was too little time
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

// Err says which checks failed, and what they found; nil if all passed. If nothing was
// checked, that is a failure too.
func Err(results []Result) error {
	if len(results) == 0 {
		return errors.New("nothing was checked")
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
	return errors.New(strings.Join(failed, ", "))
}
