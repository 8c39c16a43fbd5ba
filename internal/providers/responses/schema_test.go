package responses_test

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/responses"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

// A tool whose arguments are alternatives does not cost the whole request.
func TestOddSchemasAreTaken(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{"oneOf":[{"type":"object","properties":{"a":{"type":"array"}}}]}`,
		`{"type":["object","null"]}`,
	} {
		s, err := llm.Parse("schemas", []byte("[[turn]]\ntext = \"Hi\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		_, url := llm.Start(t, s)
		m, err := responses.New(config(strings.TrimSuffix(url, "/v1"), func(c *responses.Config) { c.Key = llm.Key }))
		if err != nil {
			t.Fatal(err)
		}
		req := &model.Request{Tools: []model.Tool{{Name: "odd", InputSchema: []byte(schema)}}, Messages: []*event.Message{user("Hi")}}
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
}
