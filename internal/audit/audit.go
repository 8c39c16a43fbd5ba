// Package audit describes a security audit: promises with the probes that try to break them,
// findings with stable ids, and the report of both.
//
// It starts nothing, dials nothing and prints nothing. Probes are in package probes below it;
// this package runs them, numbers what was found, compares with an earlier report, and writes
// Markdown, JSON and SARIF. Everything that comes from elsewhere (names in perstack.toml, answers
// of servers, an earlier report) is taken for hostile and escaped where it is written.
//
// Start reading at [Promise] and [Run], then [Report].
package audit

import (
	"context"
	"fmt"
)

// A Promise is one sentence of SECURITY.md that a program can check.
type Promise struct {
	ID   string // "N2"
	Area string // "Network"
	Text string
	// Severity is that of the finding if the promise does not hold.
	Severity Severity
	// Test names the Go tests that prove the promise, with commas: "internal/egress.TestTunnel".
	Test string
	// Probe tries to break the promise on this machine. It is nil where WhyNot says why no
	// user's machine can check it.
	Probe  func(context.Context) Result
	WhyNot string
}

// A Status is the outcome of a probe.
type Status string

// The outcomes.
const (
	Verified    Status = "verified"    // the attack was tried and failed
	Failed      Status = "failed"      // the attack succeeded
	Unavailable Status = "unavailable" // it could not be tried here, so nothing is known
)

// A Result is what a probe found out.
type Result struct {
	Status   Status
	Reason   string // why it failed or is unavailable
	Evidence string // what was tried, and what came of it
	Runtime  string // what was probed: "built-in", "sandbox full", "docker"
}

// The runtimes that probes name.
const (
	BuiltIn  = "built-in"
	Landlock = "sandbox landlock"
	Full     = "sandbox full"
	Docker   = "docker"
)

// Hold is the result of an attack that failed, as promised.
func Hold(runtime, format string, args ...any) Result {
	return Result{Status: Verified, Runtime: runtime, Evidence: fmt.Sprintf(format, args...)}
}

// Break is the result of an attack that succeeded.
func Break(runtime, format string, args ...any) Result {
	return Result{Status: Failed, Runtime: runtime, Reason: fmt.Sprintf(format, args...)}
}

// Skip is the result of an attack that could not be tried.
func Skip(format string, args ...any) Result {
	return Result{Status: Unavailable, Reason: fmt.Sprintf(format, args...)}
}

// A Claim is a promise with what was found out about it.
type Claim struct {
	ID       string `json:"id"`
	Area     string `json:"area"`
	Promise  string `json:"promise"`
	Status   Status `json:"status"`
	Runtime  string `json:"runtime,omitzero"`
	Reason   string `json:"reason,omitzero"`
	Evidence string `json:"evidence,omitzero"`
	Test     string `json:"test"`
}
