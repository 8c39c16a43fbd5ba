package tlog

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
)

func clock() time.Time { return time.Unix(1679315147, 0) }

func newTestCosigner(t testing.TB, name string) *Cosigner {
	t.Helper()
	c, secret, err := NewCosigner(rand.Reader, name, clock)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseCosigner(secret, clock)
	if err != nil || again.Witness.String() != c.Witness.String() {
		t.Fatal(again, err)
	}
	return again
}

// A cosignature is what C2SP says: a time of 8 bytes, and an Ed25519 signature over it and the checkpoint.
func TestCosignatureFormat(t *testing.T) {
	log := &memoryLog{}
	log.append(t, []byte("a\n"))
	at := log.at(t, 1)
	c := newTestCosigner(t, "witness.example/w1")
	line, err := c.Line(at)
	if err != nil {
		t.Fatal(err)
	}
	encoded, ok := strings.CutPrefix(line, "— witness.example/w1 ")
	data, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(encoded, "\n"))
	if !ok || err != nil || len(data) != 4+8+ed25519.SignatureSize || binary.BigEndian.Uint64(data[4:]) != 1679315147 {
		t.Fatalf("%q %v", line, err)
	}
	public := c.Witness.String()[strings.LastIndex(c.Witness.ID(), "+")+1+8+1:]
	key, err := base64.StdEncoding.DecodeString(public)
	if err != nil || key[0] != 4 {
		t.Fatal(key, err)
	}
	if !ed25519.Verify(key[1:], []byte("cosignature/v1\ntime 1679315147\n"+at.Text()), data[12:]) {
		t.Error("the signature is not over the header, the time and the checkpoint")
	}
}

// Only the cosignatures of known witnesses count, only valid ones, and only beside the checkpoint that was signed.
func TestCosignatures(t *testing.T) {
	log := &memoryLog{}
	log.append(t, []byte("a\n"))
	log.append(t, []byte("b\n"))
	secret, public, err := note.GenerateKey(rand.Reader, "registry.example/log")
	if err != nil {
		t.Fatal(err)
	}
	signer, _ := note.NewSigner(secret)
	verifier, _ := note.NewVerifier(public)
	at := log.at(t, 2)
	signed, err := at.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	one, two, unknown := newTestCosigner(t, "w1"), newTestCosigner(t, "w2"), newTestCosigner(t, "w3")
	line := func(c *Cosigner, at Checkpoint) string {
		text, err := c.Line(at)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	ids := func(signed string) (all []string) {
		for _, c := range Cosignatures([]byte(signed), one.Witness, two.Witness) {
			if !c.Time.Equal(clock()) || !strings.Contains(signed, c.Line) {
				t.Errorf("%+v", c)
			}
			all = append(all, c.Witness.Name())
		}
		return all
	}
	for name, tt := range map[string]struct {
		signed string
		want   []string
	}{
		"none":        {string(signed), nil},
		"one":         {string(signed) + line(two, at), []string{"w2"}},
		"both":        {string(signed) + line(two, at) + line(one, at), []string{"w1", "w2"}},
		"unknown":     {string(signed) + line(unknown, at) + line(one, at), []string{"w1"}},
		"older tree":  {string(signed) + line(one, log.at(t, 1)) + line(two, at), []string{"w2"}},
		"twice":       {string(signed) + line(one, at) + line(one, at), []string{"w1"}},
		"no log":      {at.Text() + "\n" + line(one, at), []string{"w1"}},
		"not a note":  {"x", nil},
		"other bytes": {strings.Replace(string(signed), "\n2\n", "\n3\n", 1) + line(one, at), nil},
	} {
		if got := ids(tt.signed); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if _, _, err := OpenCheckpoint([]byte(at.Text()+"\n"+line(one, at)), at.Origin, verifier); err == nil {
		t.Error("a witness counts as the log")
	}
	if _, _, err := OpenCheckpoint([]byte(string(signed)+line(one, at)), at.Origin, verifier); err != nil {
		t.Error(err)
	}
}

func TestParseWitness(t *testing.T) {
	c := newTestCosigner(t, "w1")
	w, err := ParseWitness(c.Witness.String())
	if err != nil || w.ID() != c.Witness.ID() || !w.Same(c.Witness) {
		t.Fatal(w, err)
	}
	if other := newTestCosigner(t, "w1"); w.Same(other.Witness) {
		t.Error("two keys are the same")
	}
	_, log, err := note.GenerateKey(rand.Reader, "registry.example/log")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"", "w1", log, w.ID(), "w2" + strings.TrimPrefix(w.String(), "w1"), w.String() + "\n", strings.ToUpper(w.String())} {
		if _, err := ParseWitness(key); err == nil {
			t.Errorf("%q is a witness", key)
		}
		if _, err := ParseCosigner(key, clock); err == nil {
			t.Errorf("%q is a secret key", key)
		}
	}
	if _, _, err := NewCosigner(rand.Reader, "a b", clock); err == nil {
		t.Error("a name with a space")
	}
}

func FuzzParseWitness(f *testing.F) {
	f.Add(newTestCosigner(f, "w1").Witness.String())
	f.Fuzz(func(t *testing.T, key string) {
		if w, err := ParseWitness(key); err == nil && w.String() != key {
			t.Errorf("%q %q", key, w.String())
		}
	})
}

func TestAdditions(t *testing.T) {
	a := &Addition{Old: 3, Proof: []Hash{{1}, {2}}, Signed: []byte("log\n5\nx\n\n— a b\n")}
	got, err := ParseAddition(a.Text())
	if err != nil || got.Old != 3 || len(got.Proof) != 2 || !bytes.Equal(got.Signed, a.Signed) {
		t.Fatal(got, err)
	}
	for _, text := range []string{
		"", "old 1", "old 1\n\n", "old 01\n\nx\n", "old -1\n\nx\n", "old +1\n\nx\n", "new 1\n\nx\n", "old 1\nYQ==\n\nx\n", "old 1\n???\n\nx\n",
		"old 1\n" + strings.Repeat(base64.StdEncoding.EncodeToString(make([]byte, 32))+"\n", 64) + "\nx\n",
		fmt.Sprintf("old 1\n\n%s", strings.Repeat("x", MaxAddition)),
	} {
		if _, err := ParseAddition([]byte(text)); err == nil {
			t.Errorf("%.40q is an addition", text)
		}
	}
}

func FuzzParseAddition(f *testing.F) {
	f.Add([]byte("old 1\n\nx\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if a, err := ParseAddition(text); err == nil && !bytes.Equal(a.Text(), text) {
			t.Errorf("%q", text)
		}
	})
}
