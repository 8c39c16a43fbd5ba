// Package wire is what the clients of all providers share: one HTTP call that streams
// its answer, with limits on size, depth and time, and failures sorted into classes.
//
// It knows no provider: what a body means is the business of the packages beside it. It
// never follows a redirect with a key (which would go along), never reads an environment
// variable, and never puts a key into an error. Start reading at [Client.Post], then
// [Stream.Next]; what a wire is told is [Config], what it puts together is a [Draft].
//
// A [Fetcher] gets what users name by its address, where a provider does not fetch it
// itself: without keys, from public hosts, within limits.
package wire
