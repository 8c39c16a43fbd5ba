package tlog

import (
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/note"
)

// A Rotation is how a log got another key: a leaf that names both keys, and the checkpoint that ends with this
// leaf, which both have signed. Who trusts the old key can trust the new one.
type Rotation struct {
	Checkpoint string `json:"checkpoint"`
	Leaf       string `json:"leaf"`
	Proof      []Hash `json:"proof"` // that the checkpoint ends with the leaf
}

// Old returns the key that was replaced; "" if the leaf cannot be read.
func (r *Rotation) Old() string {
	if leaf, err := ParseLeaf([]byte(r.Leaf)); err == nil && leaf.Kind == LogKey {
		return leaf.Old
	}
	return ""
}

// Follow checks a rotation of the log with this origin. It returns the new key, and the state of the log when it got it.
func (r *Rotation) Follow(origin, known string) (key string, at Checkpoint, err error) {
	fail := func(err error) (string, Checkpoint, error) {
		return "", Checkpoint{}, fmt.Errorf("the new key of the log cannot be trusted: %w", err)
	}
	leaf, err := ParseLeaf([]byte(r.Leaf))
	switch {
	case err != nil:
		return fail(err)
	case leaf.Kind != LogKey || leaf.Old != known:
		return fail(errors.New("the leaf does not replace the known key"))
	}
	for _, text := range []string{leaf.Old, leaf.New} {
		verifier, err := note.NewVerifier(text)
		if err != nil || verifier.Name() != origin {
			return fail(errors.New("the leaf does not name two keys of the log"))
		}
		if at, _, err = OpenCheckpoint([]byte(r.Checkpoint), origin, verifier); err != nil {
			return fail(err)
		}
	}
	if err := CheckLeaf(r.Proof, at, at.Size-1, []byte(r.Leaf)); err != nil {
		return fail(err)
	}
	return leaf.New, at, nil
}
