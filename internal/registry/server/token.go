package server

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// A token is the text of an API key: psk_<type>_<id>_<secret>_<checksum>. The beginning and the checksum let
// scanners find keys that were committed by mistake, without asking the registry.
type token struct {
	kind, id, text string
}

const (
	tokenPrefix   = "psk_"
	idAlphabet    = "abcdefghijklmnopqrstuvwxyz234567" // 32 letters, so that a byte chooses without a bias
	idLength      = 12
	secretBytes   = 32
	secretLength  = 43
	checkAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	checkLength   = 6
)

// newToken makes a token with a secret of 256 bits.
func newToken(kind string, random io.Reader) (token, error) {
	var bits [idLength + secretBytes]byte
	if _, err := io.ReadFull(random, bits[:]); err != nil {
		return token{}, fmt.Errorf("there are no random numbers for a key: %w", err)
	}
	id := make([]byte, idLength)
	for i := range id {
		id[i] = idAlphabet[int(bits[i])%len(idAlphabet)]
	}
	body := tokenPrefix + kind + "_" + string(id) + "_" + base64.RawURLEncoding.EncodeToString(bits[idLength:])
	return token{kind, string(id), body + "_" + checksum(body)}, nil
}

// parseToken reads a token. It says nothing about whether the registry knows it.
func parseToken(text string) (token, bool) {
	rest, ok := strings.CutPrefix(text, tokenPrefix)
	kind, rest, more := strings.Cut(rest, "_")
	const length = idLength + 1 + secretLength + 1 + checkLength
	if !ok || !more || kind == "" || len(kind) > idLength || len(rest) != length || rest[idLength] != '_' || rest[length-checkLength-1] != '_' {
		return token{}, false
	}
	body := text[:len(text)-checkLength-1]
	if checksum(body) != text[len(text)-checkLength:] || strings.Trim(kind, "abcdefghijklmnopqrstuvwxyz") != "" {
		return token{}, false
	}
	return token{kind, rest[:idLength], text}, true
}

// hash is what the registry keeps of a token.
func (t token) hash() []byte {
	sum := sha256.Sum256([]byte(t.text))
	return sum[:]
}

// checksum finds typing errors. It protects nothing.
func checksum(text string) string {
	sum := crc32.ChecksumIEEE([]byte(text))
	out := make([]byte, checkLength)
	for i := range out {
		out[len(out)-1-i] = checkAlphabet[sum%uint32(len(checkAlphabet))]
		sum /= uint32(len(checkAlphabet))
	}
	return string(out)
}
