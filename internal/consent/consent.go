// Package consent lists what the files of a project ask for beyond the defaults: variables for
// skills, env files elsewhere, another address of the model, more memory, tool calls without a
// question. A project can come from elsewhere, so the user decides about the list before any of it
// happens.
//
// [List] makes the list of a run, and [Answers] remembers the lists that the user allowed,
// outside of every project. The package asks nothing, prints nothing and reads no file of a
// project. Start reading at [Request].
package consent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/manifest"
)

// Kind is a kind of requests: a word that the user's configuration can allow.
type Kind = manifest.RequestKind

// A Request is one thing that a file of the project asks for.
type Request struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"` // a sentence without its full stop, from untrusted text
	File string `json:"file"`
	Line int    `json:"line,omitzero"` // 0 if it is not known
	Path string `json:"path,omitzero"` // key of perstack.toml

	// More are lines below the text, from untrusted text as well.
	More []string `json:"more,omitempty"`

	// Value is what is asked for, if the user can name it instead: a path.
	Value string `json:"value,omitzero"`

	// Explicit says that a general yes does not cover the request: the user has to name what is
	// asked for.
	Explicit bool `json:"explicit,omitzero"`

	// subject is everything that matters about the request, and nothing else: neither the
	// place in the file nor the words of the sentence.
	subject string
	// code identifies the code or the image that it is about; "" if nothing pins it.
	code string
}

// Digest identifies the request. Its place in the file does not matter.
func (r Request) Digest() string {
	sum := sha256.Sum256([]byte(string(r.Kind) + "\x00" + r.subject + "\x00" + r.code))
	return hex.EncodeToString(sum[:])
}

// Unpinned is the same request without a pin of its code.
func (r Request) Unpinned() Request {
	r.code = ""
	return r
}

// sorted puts requests into the order in which they are shown, and drops repetitions: ten
// Experts can share one skill.
func sorted(list []Request) []Request {
	order := manifest.RequestKinds()
	slices.SortStableFunc(list, func(a, b Request) int {
		return cmp.Or(cmp.Compare(slices.Index(order, string(a.Kind)), slices.Index(order, string(b.Kind))),
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Text, b.Text))
	})
	seen := make(map[string]bool)
	return slices.DeleteFunc(list, func(r Request) bool {
		again := seen[r.Digest()]
		seen[r.Digest()] = true
		return again
	})
}

// NoSandbox is the request of a machine without a sandbox: that commands run with all rights of
// the user.
func NoSandbox() Request {
	return Request{Kind: manifest.RequestSandbox, Text: "commands run with all your rights", Explicit: true, subject: "no sandbox on this machine"}
}
