package tlog

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
)

// seal begins the last line of what is sealed.
const seal = "seal "

// Seal hides a leaf about a private Expert. The log gets a leaf that has only a digest and the time, and the
// registry shows the text behind it to those who may read the Expert. They can prove it as any other leaf, and
// for everybody else the digest says nothing: the text ends with a line of 256 random bits.
func Seal(leaf Leaf, random io.Reader) (sealed Leaf, text []byte, err error) {
	if text, err = leaf.Text(); err != nil {
		return sealed, nil, err
	}
	var bits [sha256.Size]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return sealed, nil, fmt.Errorf("there are no random numbers to seal a leaf: %w", err)
	}
	text = fmt.Appendf(text, "%s%x\n", seal, bits)
	return Leaf{Kind: Sealed, Digest: digestOf(text), Time: leaf.Time}, text, nil
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Open returns the leaf that is sealed, from the text that [Seal] made.
func (l *Leaf) Open(text []byte) (*Leaf, error) {
	if l.Kind != Sealed {
		return nil, fmt.Errorf("a leaf of the kind %s is not sealed", l.Kind)
	}
	if subtle.ConstantTimeCompare([]byte(digestOf(text)), []byte(l.Digest)) != 1 {
		return nil, errors.New("the text behind a sealed leaf is not the one that was sealed")
	}
	body, random, ok := strings.Cut(string(text), "\n"+seal)
	if bits, err := hex.DecodeString(strings.TrimSuffix(random, "\n")); !ok || err != nil || len(bits) != sha256.Size {
		return nil, errors.New("the text behind a sealed leaf has no seal")
	}
	leaf, err := ParseLeaf([]byte(body + "\n"))
	switch {
	case err != nil:
		return nil, err
	case leaf.Kind == Sealed || !leaf.Time.Equal(l.Time):
		return nil, errors.New("a sealed leaf hides another one, of the same time")
	}
	return leaf, nil
}
