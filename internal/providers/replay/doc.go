// Package replay is a model that plays prepared answers. It needs no key and no
// network, and asks nobody: demos and tests run on it.
//
// The answers stand in a cassette, a TOML file that people write by hand; its format
// is described in docs/cassettes.md. Which answer a request gets depends on the
// request and the cassette alone. A [Model] counts nothing, so a run that was killed
// finds its place again in another process, and two runs get the same answers.
//
// Start reading at [Parse] and [Model.Generate].
package replay
