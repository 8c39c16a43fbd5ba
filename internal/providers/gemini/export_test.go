package gemini

import (
	"context"
	"net/http"
)

// TokenSource returns what makes tokens from a credentials file.
func TokenSource(data []byte, hc *http.Client) (func(context.Context) (string, error), error) {
	c, err := ReadCredentials(data)
	if err != nil {
		return nil, err
	}
	return c.Tokens(hc), nil
}

// Encodings is how many messages were encoded so far.
func (m *Model) Encodings() int64 { return m.messages.Count() }

// Reduce makes of a tool's schema what the API takes.
var Reduce = reduce

// MaxMedia is how many bytes of media a request has.
const MaxMedia = maxMedia
