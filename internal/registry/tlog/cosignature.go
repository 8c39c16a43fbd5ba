package tlog

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
)

// cosignatureType is the type of the keys of witnesses, as C2SP numbers them: Ed25519, with a time.
const cosignatureType = 0x04

// A Witness has seen the log of others, and signs that it only grew. It is a [note.Verifier] for its
// cosignatures.
type Witness struct {
	key    string
	name   string
	hash   uint32
	public ed25519.PublicKey
}

// ParseWitness reads the public key of a witness: NAME+hash+key, of the type for cosignatures.
func ParseWitness(key string) (*Witness, error) {
	fail := errors.New("it is not the key of a witness; it looks like name+hash+key, and the key of a log is of another type")
	name, rest, _ := strings.Cut(key, "+")
	hash, encoded, _ := strings.Cut(rest, "+")
	number, err := strconv.ParseUint(hash, 16, 32)
	data, decodeErr := base64.StdEncoding.DecodeString(encoded)
	if err != nil || decodeErr != nil || !validName(name) || len(data) != 1+ed25519.PublicKeySize || data[0] != cosignatureType {
		return nil, fail
	}
	w := newWitness(name, data[1:])
	if uint64(w.hash) != number || w.key != key {
		return nil, fail
	}
	return w, nil
}

func newWitness(name string, public ed25519.PublicKey) *Witness {
	data := append([]byte{cosignatureType}, public...)
	sum := sha256.Sum256([]byte(name + "\n" + string(data)))
	w := &Witness{name: name, hash: binary.BigEndian.Uint32(sum[:]), public: public}
	w.key = fmt.Sprintf("%s+%s", w.ID(), base64.StdEncoding.EncodeToString(data))
	return w
}

// validName reports whether a signed note can have a signature of this name.
func validName(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, unicode.IsSpace) && !strings.Contains(name, "+")
}

// Name is the name of the witness.
func (w *Witness) Name() string { return w.name }

// KeyHash is the number of the key in signatures.
func (w *Witness) KeyHash() uint32 { return w.hash }

// ID is the name with the number of the key.
func (w *Witness) ID() string { return fmt.Sprintf("%s+%08x", w.name, w.hash) }

// String is the key as [ParseWitness] reads it.
func (w *Witness) String() string { return w.key }

// Same reports whether two witnesses have the same key, whatever their names: they count once.
func (w *Witness) Same(other *Witness) bool { return w.public.Equal(other.public) }

// timeSize is how long the time before a signature is.
const timeSize = 8

// Verify reports whether sig is a cosignature of a checkpoint.
func (w *Witness) Verify(text, sig []byte) bool {
	if len(sig) != timeSize+ed25519.SignatureSize {
		return false
	}
	seconds := binary.BigEndian.Uint64(sig)
	return seconds <= math.MaxInt64 && ed25519.Verify(w.public, cosigned(seconds, text), sig[timeSize:])
}

// cosigned is what a witness signs.
func cosigned(seconds uint64, text []byte) []byte {
	return fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", seconds, text)
}

// A Cosigner is the secret key of a witness. It is a [note.Signer].
type Cosigner struct {
	Witness *Witness
	secret  ed25519.PrivateKey
	now     func() time.Time
}

const secretPrefix = "PRIVATE+KEY+"

// NewCosigner makes a new key for a witness. secret is what [ParseCosigner] reads.
func NewCosigner(random io.Reader, name string, now func() time.Time) (c *Cosigner, secret string, err error) {
	if !validName(name) {
		return nil, "", fmt.Errorf("%q cannot name a witness; it must have neither spaces nor +", name)
	}
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, "", fmt.Errorf("there are no random numbers for a key: %w", err)
	}
	c = newCosigner(name, seed, now)
	return c, secretPrefix + c.Witness.ID() + "+" + base64.StdEncoding.EncodeToString(append([]byte{cosignatureType}, seed...)), nil
}

func newCosigner(name string, seed []byte, now func() time.Time) *Cosigner {
	secret := ed25519.NewKeyFromSeed(seed)
	return &Cosigner{newWitness(name, ed25519.PublicKey(secret[ed25519.SeedSize:])), secret, now}
}

// ParseCosigner reads the secret key of a witness.
func ParseCosigner(secret string, now func() time.Time) (*Cosigner, error) {
	fail := errors.New("it is not the secret key of a witness") // without the text, which can be a secret
	rest, ok := strings.CutPrefix(secret, secretPrefix)
	name, rest, _ := strings.Cut(rest, "+")
	hash, encoded, _ := strings.Cut(rest, "+") // what is encoded can have a + too
	data, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || !validName(name) || len(data) != 1+ed25519.SeedSize || data[0] != cosignatureType {
		return nil, fail
	}
	c := newCosigner(name, data[1:], now)
	if c.Witness.ID() != name+"+"+hash {
		return nil, fail
	}
	return c, nil
}

// Name is the name of the witness.
func (c *Cosigner) Name() string { return c.Witness.name }

// KeyHash is the number of the key in signatures.
func (c *Cosigner) KeyHash() uint32 { return c.Witness.hash }

// Sign signs the text of a checkpoint, with the time.
func (c *Cosigner) Sign(text []byte) ([]byte, error) {
	seconds := c.now().Unix()
	if seconds < 0 {
		return nil, errors.New("the clock is before 1970")
	}
	sig := binary.BigEndian.AppendUint64(nil, uint64(seconds))
	return append(sig, ed25519.Sign(c.secret, cosigned(uint64(seconds), text))...), nil
}

// Line is the cosignature of a checkpoint, as a line of a signed note.
func (c *Cosigner) Line(at Checkpoint) (string, error) {
	signed, err := at.Sign(c)
	return string(signed[len(at.Text())+1:]), err
}

// A Cosignature says that a witness has seen a checkpoint, and when.
type Cosignature struct {
	Witness *Witness
	Time    time.Time
	Line    string // of the note
}

// Cosignatures returns the valid cosignatures of witnesses on a signed checkpoint, in the order of the
// witnesses. Whether the log has signed it is for [OpenCheckpoint] to say.
func Cosignatures(signed []byte, witnesses ...*Witness) (all []Cosignature) {
	if len(signed) > maxNote {
		return nil
	}
	for _, w := range witnesses {
		// One at a time: a wrong signature of one must not hide those of others.
		n, err := note.Open(signed, note.VerifierList(w))
		if err != nil || len(n.Sigs) == 0 {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(n.Sigs[0].Base64)
		if err != nil || len(data) < 4+timeSize {
			continue
		}
		seconds := binary.BigEndian.Uint64(data[4:])
		all = append(all, Cosignature{w, time.Unix(int64(seconds), 0).UTC(), fmt.Sprintf("— %s %s\n", n.Sigs[0].Name, n.Sigs[0].Base64)})
	}
	return all
}
