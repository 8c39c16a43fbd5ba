// Package engine says how an Expert runs: a pure state machine, and the loop that
// drives it.
//
// A run goes round one circle. decide looks at the [State] and does the work of its
// phase (asks the model, runs tools, stops), which yields an event; the event is
// appended to the journal; apply folds it into the state; and only then is it
// published. All effects live in decide. [State.apply] is pure and total: it knows no
// clock, makes no id and reads nothing, so the state of a run is the fold of its
// events, and a crashed run is resumed by folding its journal again ([Load]).
//
// The engine imports no provider, no MCP library and no file system: it is given a
// model, a toolbox and a store. Clock and ids are given to it as well; with the
// replay model, a fixed clock and fixed ids, two runs write the same bytes.
//
// A job is a tree of Runs, the coordinator's and those of the Experts that were delegated
// to. Each is driven by a goroutine of its own (run.go, delegate.go); they hand in their
// events at one desk (desk.go), so that a job has one order of events, and share one
// ledger of what they may use (ledger.go).
//
// Start reading at [Execute], then apply.go and decide.go, then delegate.go and plan.go.
package engine
