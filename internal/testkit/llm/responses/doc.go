// Package responses is OpenAI's Responses API as a scripted server speaks it
// (POST {base}/responses). It streams, and keeps nothing: a thought is taken back only
// with the content that it was encrypted to.
//
// An id of an item that came after a thought ends in t, so that the server, which does not
// remember its answers, knows when a client sends the one without the other.
package responses
