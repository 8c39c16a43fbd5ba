// Package tenant has programs that live beside each other in one container, as skills of
// one Expert do: a resident, who has a secret, and a neighbour, who is after it.
//
// The resident makes itself at home: it keeps its secret in every place that programs
// keep secrets, and writes a [Card] that tells the neighbour all that nobody would know:
// numbers of processes, names of directories, even the token of its door. The neighbour
// reads the card and tries everything ([Attack]). Each [Result] says what came of one
// attempt; what must come of it stands in [Wants].
//
// It is harmless elsewhere: it sends only signals that do nothing, and changes nothing but
// files of its own.
package tenant
