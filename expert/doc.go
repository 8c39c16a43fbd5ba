// Package expert holds what an Expert is: the values that describe it, the grammar of its
// key, what the command of a skill means, and the closure of its delegates.
//
// It holds values and nothing else: it reads no file, starts no process, never dials out
// and imports no other package of this module. Start reading at [Expert]; [ParseKey] holds
// the grammar of names such as @acme/writer@1.2.0.
package expert
