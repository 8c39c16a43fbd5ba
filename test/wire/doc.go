// Package wire holds nothing but tests: of what perstack says to the services of models,
// and of the scripted servers that replace them, against the official SDKs.
//
// An SDK is an oracle. It judges both directions: a request that perstack made has to
// survive its types, and an answer of the scripted server has to mean the same to its
// client as to ours. The cases are those of internal/providers/modeltest; each SDK has a file of its
// own with what it needs in addition, and with what it does in another way. Start reading
// at judge, in harness_test.go.
//
// It is a module of its own, so that the SDKs are no part of perstack's.
package wire
