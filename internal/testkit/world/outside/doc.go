// Package outside is the internet as far as a test needs one: a name server that lies,
// web servers at several ports, and a model's service that plays scripts. Each is a role
// of the program worldd, which runs in a container of a network that package world makes.
//
// Whatever arrives is reported as a line of JSON, an [Entry], on standard output: a test
// asserts on what the outside saw, and not only on what was tried inside. Nothing here
// dials but the relay, a proxy that others go through. Start reading at [Serve].
package outside
