// Package messages is Anthropic's Messages API (POST {base}/messages) as a wire of the
// scripted server.
//
// It looks at a request as closely as the real service does, and refuses what that would
// refuse with the same status and the same kind of body. Start reading at [Wire] and
// [Request].
package messages
