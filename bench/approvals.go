//go:build unix

package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/perstack-go/perstack/internal/approval"
	"github.com/perstack-go/perstack/job"
)

// decision returns how long it takes to decide about a command with as many rules as a file can have.
// All of them are about its program, and none of them matches: so every rule is looked at, to its end.
func decision() (time.Duration, error) {
	var rules []job.Rule
	for i := range approval.MaxRules {
		rules = append(rules, job.Rule{Tool: "exec", Command: []string{"git", "**", fmt.Sprintf("s%d", i), "**"}, Do: job.Ask})
	}
	policy := approval.Policy{Approvals: job.Approvals{Sources: []job.Rules{{Origin: job.FromUser, Rules: rules}}}}
	q := approval.Request{Tool: "exec", Class: approval.Starts, Sandboxed: true, Command: []string{"git", "-C", "x", "status", "--short", "--branch"}}
	const many = 100
	best := time.Hour
	for range 50 {
		start := time.Now()
		for range many {
			if d := policy.Decide(&q); d.Do != job.Allow {
				return 0, errors.New("a rule matches: " + d.By)
			}
		}
		best = min(best, time.Since(start)/many)
	}
	return best, nil
}
