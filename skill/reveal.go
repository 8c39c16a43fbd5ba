package skill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/rawjson"
)

// revealed returns t with all hidden characters in its texts made visible: a server could
// use them to give the model instructions that no person sees.
func revealed(t Tool) (Tool, error) {
	t.Title, t.Description = terminal.Reveal(t.Title), terminal.Reveal(t.Description)
	schema, err := revealedJSON(t.InputSchema)
	if err != nil {
		return Tool{}, fmt.Errorf("its input schema: %w", err)
	}
	t.InputSchema = schema
	return t, nil
}

// revealedJSON reveals the strings of a JSON value. Names of members stay as they are,
// since a call must use them; one with something hidden in it is an error.
func revealedJSON(value rawjson.Value) (rawjson.Value, error) {
	text := string(value)
	if text == "" || !strings.Contains(text, `\`) && terminal.Reveal(text) == text && value.IsValid() {
		return value, nil
	}
	var out bytes.Buffer
	dec, enc := jsontext.NewDecoder(bytes.NewReader(value)), jsontext.NewEncoder(&out)
	for {
		token, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(out.Bytes()), nil
		}
		if err != nil {
			return nil, err
		}
		if token.Kind() == '"' {
			shown := terminal.Reveal(token.String())
			in, n := dec.StackIndex(dec.StackDepth())
			if isName := in == '{' && n%2 == 1; isName && shown != token.String() {
				return nil, fmt.Errorf("the name %q has hidden characters", shown)
			}
			token = jsontext.String(shown)
		}
		if err := enc.WriteToken(token); err != nil {
			return nil, err
		}
	}
}
