package lockfile

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/go-json-experiment/json/jsontext"
)

// CanonicalJSON writes a JSON value in the one form that digests are made of: no blanks,
// members sorted, strings with as few escapes as JSON allows. Numbers stay as they are
// written, since rounding them could make two values equal that are not. A value with
// two members of one name, or with bytes that are not UTF-8, is refused: two readers
// could take it for two different things.
func CanonicalJSON(value jsontext.Value) (jsontext.Value, error) {
	v := value.Clone()
	err := v.Compact(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false),
		jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	if err != nil {
		return nil, err
	}
	return v, nil
}

// DefinitionDigest is the SHA-256, in hex, of the definition of a tool in its canonical
// form: the object of name, title, description, inputSchema, outputSchema and annotations
// as the server sent them, without those that it did not send. What is not JSON is
// digested as it stands.
func DefinitionDigest(definition jsontext.Value) string {
	if canonical, err := CanonicalJSON(definition); err == nil {
		definition = canonical
	}
	sum := sha256.Sum256(definition)
	return hex.EncodeToString(sum[:])
}
