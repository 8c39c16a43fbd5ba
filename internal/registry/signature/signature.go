// Package signature signs definitions of Experts with SSH keys, and checks such signatures.
//
// A signature is what ssh-keygen -Y sign writes for the namespace [Namespace] and the canonical text of a
// definition, so that ssh-keygen -Y verify can check it too. The text has the name and the version of the
// Expert: a signature is good for nothing else.
//
// The keys are those of the user's SSH: files, those that an agent holds, and those on devices, by an
// agent. A private key leaves neither. Start reading at [Verify]; [Keys] finds keys, and a [Signer] signs.
package signature

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/crypto/ssh"
)

// Namespace keeps these signatures apart from those that the same key makes for mail or git.
const Namespace = "perstack-expert"

const (
	magic     = "SSHSIG"
	version   = 1
	hashName  = "sha512"
	pemType   = "SSH SIGNATURE"
	maxLength = 16 << 10
	minRSA    = 2048 // bits
)

// blob is a signature as PROTOCOL.sshsig of OpenSSH has it, after the magic word.
type blob struct {
	Version   uint32
	PublicKey []byte
	Namespace string
	Reserved  string
	Hash      string
	Signature []byte
}

// signed is what the key signs, after the magic word.
type signed struct {
	Namespace string
	Reserved  string
	Hash      string
	Digest    []byte
}

// toSign returns what the key signs for a text.
func toSign(text []byte) []byte {
	sum := sha512.Sum512(text)
	return append([]byte(magic), ssh.Marshal(signed{Namespace: Namespace, Hash: hashName, Digest: sum[:]})...)
}

// Sign signs the canonical text of a definition.
func Sign(signer ssh.Signer, text []byte) (string, error) {
	key := signer.PublicKey()
	if err := CheckKey(key); err != nil {
		return "", err
	}
	var made *ssh.Signature
	var err error
	if with, ok := signer.(ssh.AlgorithmSigner); ok && key.Type() == ssh.KeyAlgoRSA { // the default of RSA is SHA-1
		made, err = with.SignWithAlgorithm(rand.Reader, toSign(text), ssh.KeyAlgoRSASHA512)
	} else {
		made, err = signer.Sign(rand.Reader, toSign(text))
	}
	if err != nil {
		return "", fmt.Errorf("the key %s cannot sign: %w", Fingerprint(key), err)
	}
	data := append([]byte(magic), ssh.Marshal(blob{
		Version: version, PublicKey: key.Marshal(), Namespace: Namespace, Hash: hashName, Signature: ssh.Marshal(made),
	})...)
	armored := string(pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: data}))
	if _, err := Verify(armored, text); err != nil { // an agent can answer anything
		return "", err
	}
	return armored, nil
}

// Verify returns the key that has signed a text. Whether that key is trusted is for the caller to decide.
func Verify(armored string, text []byte) (ssh.PublicKey, error) {
	key, err := verify(armored, text)
	if err != nil {
		return nil, fmt.Errorf("the signature is not valid: %w", err)
	}
	return key, nil
}

func verify(armored string, text []byte) (ssh.PublicKey, error) {
	if len(armored) > maxLength {
		return nil, fmt.Errorf("it has more than %d bytes", maxLength)
	}
	block, rest := pem.Decode([]byte(armored))
	if block == nil || block.Type != pemType || len(bytes.TrimSpace(rest)) > 0 || len(block.Headers) > 0 {
		return nil, errors.New("it is not one signature of SSH")
	}
	data, ok := bytes.CutPrefix(block.Bytes, []byte(magic))
	var b blob
	if !ok || ssh.Unmarshal(data, &b) != nil || b.Version != version {
		return nil, errors.New("it is not a signature of SSH")
	}
	if b.Namespace != Namespace {
		return nil, fmt.Errorf("it was made for %q", b.Namespace)
	}
	if b.Hash != hashName || b.Reserved != "" {
		return nil, fmt.Errorf("it uses the hash %q, not %s", b.Hash, hashName)
	}
	key, err := ssh.ParsePublicKey(b.PublicKey)
	if err != nil {
		return nil, err
	}
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	var s ssh.Signature
	if err := ssh.Unmarshal(b.Signature, &s); err != nil {
		return nil, err
	}
	if key.Type() == ssh.KeyAlgoRSA && s.Format != ssh.KeyAlgoRSASHA512 && s.Format != ssh.KeyAlgoRSASHA256 {
		return nil, fmt.Errorf("it uses %q, which is broken", s.Format)
	}
	if err := key.Verify(toSign(text), &s); err != nil {
		return nil, errors.New("it is not of this text")
	}
	return key, nil
}

// kinds are the kinds of keys that can sign: no DSA, and no certificates.
var kinds = []string{
	ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoRSA,
	ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKECDSA256,
}

// CheckKey refuses keys that are too weak to sign.
func CheckKey(key ssh.PublicKey) error {
	if !slices.Contains(kinds, key.Type()) {
		return fmt.Errorf("keys of the kind %q cannot sign; use Ed25519", key.Type())
	}
	if crypto, ok := key.(ssh.CryptoPublicKey); ok {
		if r, ok := crypto.CryptoPublicKey().(*rsa.PublicKey); ok && r.N.BitLen() < minRSA {
			return fmt.Errorf("an RSA key of %d bits is too short; use Ed25519", r.N.BitLen())
		}
	}
	return nil
}

// Fingerprint names a key, as ssh-keygen -l does.
func Fingerprint(key ssh.PublicKey) string { return ssh.FingerprintSHA256(key) }

// ParseKey reads a public key as a line of authorized_keys or of a .pub file has it.
func ParseKey(line string) (key ssh.PublicKey, comment string, err error) {
	key, comment, options, rest, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil || len(options) > 0 || len(bytes.TrimSpace(rest)) > 0 {
		return nil, "", errors.New("it is not a public key of SSH; write it as in the file that ends in .pub")
	}
	return key, comment, CheckKey(key)
}

// FormatKey writes a public key as [ParseKey] reads it.
func FormatKey(key ssh.PublicKey) string {
	return string(bytes.TrimSpace(ssh.MarshalAuthorizedKey(key)))
}
