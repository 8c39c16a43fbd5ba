// Package engine runs Experts: a pure state machine, and the loop that drives it.
//
// A Run repeats four steps. decide looks at the [State] and does the work of its phase
// (asks the model, calls tools, stops), which yields an event. The recorder appends the
// event to the journal, apply folds it into the state, and only then is it published. All
// effects are in decide. [State.apply] is pure and total: it reads no clock, makes no ids
// and does no I/O. So the state of a Run is the fold of its events, and a crashed Run is
// resumed by folding its journal ([Load]).
//
// The engine imports no provider, no MCP library and no file system. It is given a model,
// a toolbox and a store, and a clock and ids as well. With the replay model, a fixed clock
// and fixed ids, two runs write the same bytes.
//
// A job is a tree of Runs: the coordinator's, and those of its delegates. Each Run has a
// goroutine of its own. They send their events to one recorder, so the events of a job have
// one order, and they draw from budgets that share one lock, so limits hold for the job as
// a whole.
//
// Read the files in this order:
//
//	engine.go      Execute, and the coordinator's Run
//	run.go         one Run: its skills, its loop, its delegates
//	decide.go      what happens in each phase; then tools.go and generate.go
//	apply.go       what each event does to the State
//	recorder.go    how events are written and published
//	delegate.go    how delegates run; then delegate_results.go and budget.go
//	plan.go        where a job starts, resumes or branches
package engine
