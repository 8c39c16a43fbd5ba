package signature

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func signerOf(t testing.TB, private any) ssh.Signer {
	t.Helper()
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newSigners(t testing.TB) map[string]ssh.Signer {
	t.Helper()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	r, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]ssh.Signer{"ed25519": signerOf(t, ed), "ecdsa": signerOf(t, ec), "rsa": signerOf(t, r)}
}

func TestSignAndVerify(t *testing.T) {
	text := []byte(`{"name":"a"}`)
	for name, signer := range newSigners(t) {
		t.Run(name, func(t *testing.T) {
			armored, err := Sign(signer, text)
			if err != nil {
				t.Fatal(err)
			}
			key, err := Verify(armored, text)
			if err != nil || Fingerprint(key) != Fingerprint(signer.PublicKey()) {
				t.Errorf("%v %v", key, err)
			}
			if _, err := Verify(armored, []byte(`{"name":"b"}`)); err == nil {
				t.Error("a signature of another text was accepted")
			}
			line := FormatKey(signer.PublicKey())
			if again, _, err := ParseKey(line + " me@example.com"); err != nil || FormatKey(again) != line {
				t.Errorf("%q %v", line, err)
			}
		})
	}
}

// remade changes a signature and writes it again.
func remade(t *testing.T, armored string, change func(*blob)) string {
	t.Helper()
	block, _ := pem.Decode([]byte(armored))
	var b blob
	if err := ssh.Unmarshal(block.Bytes[len(magic):], &b); err != nil {
		t.Fatal(err)
	}
	change(&b)
	return string(pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: append([]byte(magic), ssh.Marshal(b)...)}))
}

func TestRefused(t *testing.T) {
	text := []byte("text")
	signers := newSigners(t)
	good, err := Sign(signers["ed25519"], text)
	if err != nil {
		t.Fatal(err)
	}
	withRSA, err := Sign(signers["rsa"], text)
	if err != nil {
		t.Fatal(err)
	}
	sha1, err := signers["rsa"].Sign(rand.Reader, toSign(text))
	if err != nil {
		t.Fatal(err)
	}
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	for name, armored := range map[string]string{
		"nothing":       "",
		"text":          "hello",
		"twice":         good + good,
		"another type":  strings.ReplaceAll(good, "SSH SIGNATURE", "PUBLIC KEY"),
		"headers":       strings.Replace(good, "-----\n", "-----\nA: b\n\n", 1),
		"long":          good + strings.Repeat("\n", maxLength),
		"another use":   remade(t, good, func(b *blob) { b.Namespace = "git" }),
		"another hash":  remade(t, good, func(b *blob) { b.Hash = "sha256" }),
		"reserved":      remade(t, good, func(b *blob) { b.Reserved = "x" }),
		"version":       remade(t, good, func(b *blob) { b.Version = 2 }),
		"another key":   remade(t, good, func(b *blob) { b.PublicKey = signers["ecdsa"].PublicKey().Marshal() }),
		"no key":        remade(t, good, func(b *blob) { b.PublicKey = nil }),
		"no signature":  remade(t, good, func(b *blob) { b.Signature = nil }),
		"sha-1":         remade(t, withRSA, func(b *blob) { b.Signature = ssh.Marshal(sha1) }),
		"short rsa key": remade(t, withRSA, func(b *blob) { b.PublicKey = signerOf(t, short).PublicKey().Marshal() }),
	} {
		if key, err := Verify(armored, text); err == nil {
			t.Errorf("%s: %s was accepted", name, Fingerprint(key))
		}
	}
	if _, err := Sign(signerOf(t, short), text); err == nil {
		t.Error("a short key signed")
	}
	line := FormatKey(signers["ed25519"].PublicKey())
	for _, wrong := range []string{"", "ssh-ed25519", line + "\n" + line, `command="x" ` + line} {
		if _, _, err := ParseKey(wrong); err == nil {
			t.Errorf("%q is no key", wrong)
		}
	}
}

func FuzzVerify(f *testing.F) {
	text := []byte("text")
	good, err := Sign(newSigners(f)["ed25519"], text)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, text)
	f.Fuzz(func(t *testing.T, armored string, other []byte) {
		if key, err := Verify(armored, other); err == nil && armored != good && string(other) != string(text) {
			t.Errorf("%s has signed %q", Fingerprint(key), other)
		}
	})
}
