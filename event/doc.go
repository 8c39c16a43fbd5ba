// Package event says what happened: the events of a run, the messages and parts
// they carry, checkpoints, steps and usage.
//
// The package holds values and their JSON, nothing else. It opens no file, asks no
// clock and makes no id; whoever creates an event hands those in.
//
// An [Event] comes in two densities with one set of types. The journal keeps the
// lean form: every fact once, and nothing that can be folded from earlier records.
// Programs that read standard output get the full form, where checkpoints carry the
// whole conversation; the engine fills those fields in from its state. Fields that
// only the full form has say so in their comment.
//
// Members that this version does not know survive decoding and encoding, so that a
// journal written by a newer release is not damaged by an older one.
//
// Start reading at [Event], then [Body] and its implementations.
package event
