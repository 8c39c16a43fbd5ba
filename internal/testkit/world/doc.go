// Package world makes an internet for tests: a network of the Docker daemon with
// addresses that are public by class, a name server that lies, web servers, a model's
// service. Nothing of it can be reached from elsewhere, and nothing in it reaches the
// machine or the real internet.
//
//	w := world.Start(t)
//	host := w.LLM(t, script)            // a model's service that plays a script
//	…                                   // [docker] network = w.Network, dns = [w.DNS]
//	for _, e := range w.Seen(t) { … }   // what the outside saw
//
// The servers are roles of the program worldd; package outside has them. Start reading at
// [Start].
package world
