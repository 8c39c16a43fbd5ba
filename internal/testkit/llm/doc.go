// Package llm is a model's service for tests: an HTTP server that plays a script and
// speaks the streaming wires of all providers.
//
// It looks at a request as closely as the real service does, and answers what that would
// refuse with the same status and the same kind of body. What it accepts, it answers from
// the script; and it can answer badly in every way we have heard of, on every wire. Which
// wire a client speaks shows in the path that it asks for: one server serves them all.
// It asks nobody and keeps what it was asked in memory, for assertions: [Server.Requests].
//
// What a script says is in the comment of the package script. Start reading at [Parse]
// and [Server].
package llm
