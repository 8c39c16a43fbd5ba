// Package probe tries to get out of a container, from inside: every way that we know of
// to reach another host, to read secrets of others, to become another user. It is what
// an Expert's command, or a skill, would be if the model or the skill were hostile.
//
// A [Row] is one attack with the outcomes that are wanted. The table is made by [Rows] from
// a [Config]; the test makes the same one, so that what was tried and what must come of it
// are in one place. The program probed runs the rows and writes [Result]s to a file.
//
// It is harmless elsewhere: it changes nothing but files of its own, starts a bounded
// number of processes and ends them, and does not repeat secrets that it finds.
package probe
