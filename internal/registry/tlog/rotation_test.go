package tlog

import (
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// A new key is trusted if the old one has signed the checkpoint that ends with the leaf about it.
func TestFollow(t *testing.T) {
	const origin = "registry.example/log"
	newKey := func() (note.Signer, string) {
		secret, public, err := note.GenerateKey(rand.Reader, origin)
		if err != nil {
			t.Fatal(err)
		}
		signer, err := note.NewSigner(secret)
		if err != nil {
			t.Fatal(err)
		}
		return signer, public
	}
	old, oldKey := newKey()
	next, nextKey := newKey()
	other, otherKey := newKey()
	rotation := func(leaf Leaf, size int64, signers ...note.Signer) Rotation {
		leaf.Actor, leaf.Time = "operator", time.Unix(1, 0).UTC()
		text, err := leaf.Text()
		if err != nil {
			t.Fatal(err)
		}
		_, added, err := Append(0, text, HashReaderFunc(func([]int64) ([]Hash, error) { return nil, nil }))
		if err != nil {
			t.Fatal(err)
		}
		signed, err := Checkpoint{Origin: origin, Size: size, Hash: added[0]}.Sign(signers...)
		if err != nil {
			t.Fatal(err)
		}
		return Rotation{Checkpoint: string(signed), Leaf: string(text)}
	}
	leaf := Leaf{Kind: LogKey, Old: oldKey, New: nextKey}
	good := rotation(leaf, 1, old, next)
	if key, at, err := good.Follow(origin, oldKey); err != nil || key != nextKey || at.Size != 1 || good.Old() != oldKey {
		t.Error(key, at, err)
	}
	for name, c := range map[string]struct {
		rotation Rotation
		want     string
	}{
		"only the new key":     {rotation(leaf, 1, next), "no key that is known has signed it"},
		"only the old key":     {rotation(leaf, 1, old), "no key that is known has signed it"},
		"another key":          {rotation(leaf, 1, old, other), "no key that is known has signed it"},
		"not the known key":    {rotation(Leaf{Kind: LogKey, Old: otherKey, New: nextKey}, 1, other, next), "does not replace the known key"},
		"another kind":         {rotation(Leaf{Kind: OrgChanged, Org: "a", Old: oldKey, New: nextKey}, 1, old, next), "does not replace the known key"},
		"not a key":            {rotation(Leaf{Kind: LogKey, Old: oldKey, New: "key"}, 1, old, next), "does not name two keys of the log"},
		"not the last leaf":    {rotation(leaf, 2, old, next), "does not have the leaf 1"},
		"no leaf":              {Rotation{Checkpoint: good.Checkpoint}, "the leaf cannot be read"},
		"leaf of another time": {Rotation{Checkpoint: good.Checkpoint, Leaf: strings.Replace(good.Leaf, "00:00:01", "00:00:02", 1)}, "does not have the leaf 0"},
		"an empty log":         {rotation(leaf, 0, old, next), "none with the number -1"},
	} {
		if _, _, err := c.rotation.Follow(origin, oldKey); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := good.Follow("other.example/log", oldKey); err == nil {
		t.Error("a rotation of another log was followed")
	}
}
