// Package wire is what the clients of all providers share: one HTTP call that streams
// its answer, with limits on size, depth and time, and failures sorted into classes.
//
// It knows no provider: what a body means is the business of the packages beside it. It
// never follows a redirect (the key would go along), never reads an environment
// variable, and never puts a key into an error. Start reading at [Client.Post], then
// [Stream.Next].
package wire
