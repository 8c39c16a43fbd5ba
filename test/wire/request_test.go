package wire_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"
)

// A golden is a request body that the tests of model/anthropic keep.
type golden struct {
	name string
	path string
}

func goldenRequests(t *testing.T) (all []golden) {
	t.Helper()
	paths, err := filepath.Glob("../../model/anthropic/testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden requests were found: %v", err)
	}
	for _, path := range paths {
		all = append(all, golden{"golden " + strings.TrimSuffix(filepath.Base(path), ".json"), path})
	}
	return all
}

func (g golden) check(t *testing.T) {
	body, err := os.ReadFile(g.path)
	if err != nil {
		t.Fatal(err)
	}
	survives(t, body, nil)
}

// survives checks that the SDK sends the body that it was given. The types of the beta
// take every body; those without have to take it as well where no beta is asked for.
func survives(t *testing.T, body []byte, betas []string) {
	t.Helper()
	want := canonical(t, body, true)
	sent, sentBetas, err := throughBeta(t, body, betas)
	if err != nil {
		t.Fatalf("the SDK cannot read it: %v", err)
	}
	if diff := cmp.Diff(want, canonical(t, sent, false)); diff != "" {
		t.Errorf("as a beta request (-ours +the SDK's):\n%s", diff)
	}
	if diff := cmp.Diff(strings.Join(betas, ","), strings.Join(sentBetas, ",")); diff != "" {
		t.Errorf("betas (-ours +the SDK's):\n%s", diff)
	}
	if len(betas) > 0 || needsBeta(body) {
		return
	}
	if sent, err = throughPlain(t, body); err != nil {
		t.Fatalf("the SDK cannot read it: %v", err)
	}
	if diff := cmp.Diff(want, canonical(t, sent, false)); diff != "" {
		t.Errorf("as a plain request (-ours +the SDK's):\n%s", diff)
	}
}

// needsBeta is true for the golden bodies that model/anthropic sends with a beta header,
// which a golden does not show: tools that the provider runs.
func needsBeta(body []byte) bool {
	return bytes.Contains(body, []byte(`"code_execution_`)) || bytes.Contains(body, []byte(`"web_fetch_`))
}

func throughBeta(t *testing.T, body []byte, betas []string) (sent []byte, sentBetas []string, err error) {
	var params sdk.BetaMessageNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		return nil, nil, err
	}
	params.Betas = betas
	var post mailbox
	client := sdkClient("http://127.0.0.1", option.WithHTTPClient(&post))
	drain(client.Beta.Messages.NewStreaming(t.Context(), params))
	return post.body, post.header.Values("Anthropic-Beta"), nil
}

func throughPlain(t *testing.T, body []byte) ([]byte, error) {
	var params sdk.MessageNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		return nil, err
	}
	var post mailbox
	client := sdkClient("http://127.0.0.1", option.WithHTTPClient(&post))
	drain(client.Messages.NewStreaming(t.Context(), params))
	return post.body, nil
}

func drain(stream interface {
	Next() bool
	Close() error
}) {
	for stream.Next() {
	}
	stream.Close()
}

// A mailbox keeps what a client sends and answers with an empty stream.
type mailbox struct {
	header http.Header
	body   []byte
}

func (m *mailbox) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	m.header, m.body = r.Header, body
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {"text/event-stream"}},
		Body:       http.NoBody,
		Request:    r,
	}, nil
}

// canonical decodes a body so that only what it means is compared. Numbers keep their
// digits. In ours, the known differences are evened out first.
func canonical(t *testing.T, body []byte, ours bool) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, body)
	}
	if ours {
		for _, known := range knownDifferences {
			walk(v, known.even)
		}
	}
	return v
}

// knownDifferences are all that the SDK writes in another way than we do. Whatever is
// not listed here is a failure.
var knownDifferences = []struct {
	why  string
	even func(object map[string]any)
}{
	{
		why: "the API takes the content of a tool_result as a text or as a list; the SDK has the list only, and makes one block of the text",
		even: func(object map[string]any) {
			if text, ok := object["content"].(string); ok && object["type"] == "tool_result" {
				object["content"] = []any{map[string]any{"type": "text", "text": text}}
			}
		},
	},
	{
		why: "arguments and schemas are any to the SDK, which makes float64 of their numbers: large ones lose digits, which ours keep",
		even: func(object map[string]any) {
			if object["type"] == "tool_use" {
				object["input"] = asFloats(object["input"])
			}
			if schema, ok := object["input_schema"]; ok {
				object["input_schema"] = asFloats(schema)
			}
		},
	},
}

func asFloats(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = asFloats(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = asFloats(v[name])
		}
	case json.Number:
		if f, err := v.Float64(); err == nil {
			if data, err := json.Marshal(f); err == nil {
				return json.Number(data)
			}
		}
	}
	return v
}

func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			walk(e, visit)
		}
	case map[string]any:
		visit(v)
		for _, e := range v {
			walk(e, visit)
		}
	}
}

// A comparison that cannot fail proves nothing: these are mistakes that it has to see.
func TestMistakesAreSeen(t *testing.T) {
	const right = `{"model":"m","max_tokens":9,"stream":true,"thinking":{"type":"enabled","budget_tokens":1024},` +
		`"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"x"}],"is_error":true,"cache_control":{"type":"ephemeral"}}]}]}`
	for _, change := range [][2]string{
		{"", ""}, // none
		{`"max_tokens"`, `"maxTokens"`},
		{`"budget_tokens"`, `"budget"`},
		{`"stream":true`, `"stream":false`},
		{`"tool_use_id"`, `"tool_call_id"`},
		{`"is_error":true`, `"is_error":"yes"`},
		{`"is_error"`, `"isError"`},
		{`"cache_control":{"type":"ephemeral"}`, `"cache_control":"ephemeral"`},
		{`"type":"text"`, `"type":"texts"`},
		{`"type":"tool_result"`, `"type":"tool_results"`},
		{`"thinking":{"type":"enabled",`, `"thinking":{"type":"on",`},
	} {
		body := []byte(strings.Replace(right, change[0], change[1], 1))
		for name, send := range map[string]func() ([]byte, error){
			"beta":  func() ([]byte, error) { sent, _, err := throughBeta(t, body, nil); return sent, err },
			"plain": func() ([]byte, error) { return throughPlain(t, body) },
		} {
			sent, err := send()
			equal := err == nil && len(sent) > 0 && cmp.Equal(canonical(t, body, true), canonical(t, sent, false))
			if want := change[0] == ""; equal != want {
				t.Errorf("%s, %s instead of %s: equal is %v (%s, %v)", name, change[1], change[0], equal, sent, err)
			}
		}
	}
}
