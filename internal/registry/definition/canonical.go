package definition

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxSize is how long a canonical text can be.
const MaxSize = 1 << 20

const (
	maxDepth   = 16      // of JSON; a definition needs 6
	maxInteger = 1 << 53 // beyond it, readers of JSON do not agree on a number
)

// Encode returns the canonical text of the definition: JSON as RFC 8785 has it, without lists and tables
// that are empty.
func (d *Definition) Encode() []byte {
	text, err := json.Marshal(d, json.Deterministic(true))
	if err == nil {
		err = (*jsontext.Value)(&text).Canonicalize()
	}
	if err != nil {
		panic("definition: plain values do not encode: " + err.Error()) // every reader refuses invalid UTF-8
	}
	return text
}

// Digest is the SHA-256 of a canonical text, as it is written everywhere.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return digestPrefix + hex.EncodeToString(sum[:])
}

const digestPrefix = "sha256:"

// IsDigest reports whether s can be a digest.
func IsDigest(s string) bool {
	sum, ok := strings.CutPrefix(s, digestPrefix)
	return ok && len(sum) == 2*sha256.Size && strings.Trim(sum, "0123456789abcdef") == ""
}

// Parse reads a canonical text, and refuses any other text of the same definition. It does not check what
// the definition says; see [Definition.Expert].
func Parse(text []byte) (*Definition, error) {
	d, err := Read(text)
	if err == nil && !bytes.Equal(text, d.Encode()) {
		err = errors.New("it is not in the canonical form")
	}
	if err != nil {
		return nil, fmt.Errorf("the definition cannot be read: %w", err)
	}
	return d, nil
}

// Read reads a definition from JSON that need not be canonical. A member that it does not know is an error:
// it could be something that the Expert needs, or that its user has to know.
func Read(text []byte) (*Definition, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(text), MaxSize)
	}
	if err := checkTokens(text); err != nil {
		return nil, err
	}
	d := &Definition{}
	if err := json.Unmarshal(text, d, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	if d.Schema != Schema {
		return nil, fmt.Errorf("it has the schema %q; this version reads %s", d.Schema, Schema)
	}
	return d, nil
}

// checkTokens refuses what two readers of JSON could understand differently.
func checkTokens(text []byte) error {
	in := jsontext.NewDecoder(bytes.NewReader(text)) // refuses repeated names and invalid UTF-8
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case in.StackDepth() > maxDepth:
			return fmt.Errorf("it is nested more than %d deep", maxDepth)
		case token.Kind() == '0':
			if n, err := strconv.ParseInt(token.String(), 10, 64); err != nil || n >= maxInteger || n <= -maxInteger {
				return errors.New("it has a number that is no integer, or too large")
			}
		case token.Kind() == '"' && strings.ContainsRune(token.String(), 0):
			return errors.New("it has a NUL character")
		}
	}
}
