package wire_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genai"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

// TestGemini prints, with -v, which cases were held against the SDK in which direction.
func TestGemini(t *testing.T) {
	judge(t, "genai, Gemini API", geminiSDK{}, []string{"google"}, geminiCases()...)
}

// TestVertex is the same for the other backend.
func TestVertex(t *testing.T) {
	judge(t, "genai, Vertex AI", geminiSDK{vertex: true}, []string{"google-vertex"}, geminiCases()...)
}

// The bodies that the tests of internal/providers/gemini keep survive as well.
func TestGeminiGoldens(t *testing.T) {
	paths, err := filepath.Glob("../../internal/providers/gemini/testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden requests were found: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			geminiSDK{vertex: strings.Contains(path, "vertex")}.survives(t, "gemini-x", body)
		})
	}
}

// geminiCases are what only this wire has: signatures, which Gemini 3 asks for.
func geminiCases() []modeltest.Case {
	return []modeltest.Case{{Name: "signatures of Gemini 3", Talk: modeltest.Always(modeltest.Talk{
		Script: "[[turn]]\nreasoning = \"Both.\"\ntext = \"I read.\"\n[[turn.call]]\ntool = \"read\"\nargs = { path = \"a\" }\n[[turn.call]]\ntool = \"read\"\nargs = { path = \"b\" }\n" +
			"[[turn]]\nreasoning = \"Good.\"\ntext = \"Done.\"\n[[turn]]\ntext = \"Bye.\"\n",
		Said: []modeltest.Say{
			modeltest.User(modeltest.Text("Read.")),
			modeltest.Results(modeltest.Result(modeltest.Text("A")), modeltest.Failed(modeltest.Text("no"))),
			modeltest.User(modeltest.Text("Thanks.")),
		},
		Tools: []model.Tool{{Name: "read", InputSchema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}, Reasoning: "high",
		Place: modeltest.Place{Model: "gemini-3-pro-preview"},
		Want: []modeltest.Reading{
			{
				Heard: "Both.I read.", Thoughts: []string{"Both."}, Text: "I read.", Finish: model.FinishToolCalls,
				Calls: []modeltest.Call{{Tool: "read", Args: `{"path":"a"}`}, {Tool: "read", Args: `{"path":"b"}`}},
			},
			{Heard: "Good.Done.", Thoughts: []string{"Good."}, Text: "Done.", Finish: model.FinishStop},
			{Heard: "Bye.", Text: "Bye.", Finish: model.FinishStop},
		},
		Has: []string{`"thinkingLevel":"HIGH"`, `"thoughtSignature"`},
	})}}
}

// geminiSDK is the oracle of google and google-vertex.
type geminiSDK struct{ vertex bool }

// client is the SDK's, with nothing of this machine's environment. It is given a transport
// of its own, so that it looks for no credentials.
func (o geminiSDK) client(t *testing.T, root string, transport http.RoundTripper) *genai.Client {
	t.Helper()
	for _, name := range []string{"GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_GENAI_USE_ENTERPRISE"} {
		t.Setenv(name, "")
	}
	cfg := &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: llm.Key,
		HTTPClient:  &http.Client{Transport: transport},
		HTTPOptions: genai.HTTPOptions{BaseURL: root, APIVersion: "v1beta"},
	}
	if o.vertex {
		cfg.Backend, cfg.APIKey, cfg.Project, cfg.Location = genai.BackendVertexAI, "", "p", "l"
		cfg.HTTPOptions.APIVersion = "v1beta1"
		cfg.HTTPClient.Transport = bearer{transport}
	}
	client, err := genai.NewClient(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// bearer sends the token that the scripted token server would give.
type bearer struct{ next http.RoundTripper }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer ya29."+llm.Key)
	return b.next.RoundTrip(r)
}

// Excuse names what the SDK cannot tell.
func (geminiSDK) Excuse(direction, name string) string {
	if direction == answer && name == "a call" {
		return "the SDK makes float64 of the numbers in arguments, and loses digits that ours keeps"
	}
	return ""
}

func (o geminiSDK) Survives(t *testing.T, r llm.Recorded) {
	t.Helper()
	name, _, _ := strings.Cut(r.URI[strings.LastIndex(r.URI, "/")+1:], ":")
	if sent := o.survives(t, name, r.Raw); sent != r.URI {
		t.Errorf("we ask %s, the SDK asks %s", r.URI, sent)
	}
}

// survives returns where the SDK sends the body.
func (o geminiSDK) survives(t *testing.T, name string, body []byte) string {
	t.Helper()
	body = readable(body)
	post, err := o.through(t, name, body)
	if err != nil {
		t.Fatalf("the SDK cannot read it: %v", err)
	}
	same(t, body, post.body, geminiDifferences...)
	return post.url
}

// readable writes the one signature that is not base64 as the SDK can read it. The API
// documents the word as it is, and takes it so; the SDK for Go has no way to write it.
func readable(body []byte) []byte {
	return []byte(strings.ReplaceAll(string(body), `"skip_thought_signature_validator"`, `"c2tpcA=="`))
}

// through sends a body through the SDK's types. They have the members of generationConfig
// beside the others.
func (o geminiSDK) through(t *testing.T, name string, body []byte) (post mailbox, err error) {
	t.Helper()
	var members, generation map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return post, err
	}
	var contents []*genai.Content
	if err := strictly(members["contents"], &contents); err != nil {
		return post, err
	}
	if members["generationConfig"] != nil {
		if err := json.Unmarshal(members["generationConfig"], &generation); err != nil {
			return post, err
		}
	}
	delete(members, "contents")
	delete(members, "generationConfig")
	for member, value := range generation {
		members[member] = value
	}
	flat, err := json.Marshal(members)
	if err != nil {
		return post, err
	}
	var cfg genai.GenerateContentConfig
	if err := strictly(flat, &cfg); err != nil {
		return post, err
	}
	for _, err := range o.client(t, "http://127.0.0.1", &post).Models.GenerateContentStream(t.Context(), name, contents, &cfg) {
		return post, err // what it makes of no answer is not asked
	}
	return post, nil
}

func strictly(data []byte, v any) error {
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// geminiDifferences are all that the SDK writes in another way than we do. Whatever is not
// listed here is a failure.
var geminiDifferences = []difference{
	{
		why: "the SDK always sends a generationConfig, and gives the system instruction the role of a user; the API asks for neither",
		even: func(object map[string]any) {
			if object["contents"] == nil {
				return // not the whole
			}
			if object["generationConfig"] == nil {
				object["generationConfig"] = map[string]any{}
			}
			if system, ok := object["systemInstruction"].(map[string]any); ok {
				system["role"] = "user"
			}
		},
	},
	{
		why: "arguments are any to the SDK, which makes float64 of their numbers: large ones lose digits, which ours keep; and it leaves out arguments of which there are none",
		even: func(object map[string]any) {
			call, ok := object["functionCall"].(map[string]any)
			if !ok {
				return
			}
			args, _ := call["args"].(map[string]any)
			if call["args"] = asFloats(args); len(args) == 0 {
				delete(call, "args")
			}
		},
	},
	{
		why: "an empty text with a signature is sent back as it came; the SDK leaves the text out and sends the signature alone",
		even: func(object map[string]any) {
			if object["text"] == "" && object["thoughtSignature"] != nil {
				delete(object, "text")
			}
		},
	},
}

func (o geminiSDK) Read(t *testing.T, s *modeltest.Subject, root string, limit int) (r modeltest.Reading) {
	hello := []*genai.Content{{Role: genai.RoleUser, Parts: []*genai.Part{{Text: "Hello"}}}}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	var finish genai.FinishReason
	thinking := false
	for chunk, err := range o.client(t, root, transport).Models.GenerateContentStream(t.Context(), s.Model, hello, &genai.GenerateContentConfig{MaxOutputTokens: int32(limit)}) {
		if err != nil {
			r = modeltest.Reading{Heard: r.Heard, Usage: r.Usage, Failure: geminiFailure(err)}
			return r
		}
		if chunk.UsageMetadata != nil {
			r.Usage = geminiUsage(chunk.UsageMetadata)
		}
		for _, c := range chunk.Candidates {
			if c.FinishReason != "" {
				finish = c.FinishReason
			}
			if c.Content == nil {
				continue
			}
			for _, p := range c.Content.Parts {
				geminiPart(t, p, &r, &thinking)
			}
		}
	}
	// The SDK takes a stream that just ends for complete: that the reason of the end has
	// come is the caller's to check.
	if finish == "" {
		return modeltest.Reading{Heard: r.Heard, Usage: r.Usage, Failure: modeltest.Failure{Broken: true}}
	}
	r.Finish = geminiFinish(finish, len(r.Calls) > 0)
	return r
}

func geminiPart(t *testing.T, p *genai.Part, r *modeltest.Reading, thinking *bool) {
	t.Helper()
	if len(p.ThoughtSignature) > 0 {
		mark, err := json.Marshal(p.ThoughtSignature) // in base64, as it came
		if err != nil {
			t.Fatal(err)
		}
		r.Marks = append(r.Marks, strings.Trim(string(mark), `"`))
	}
	switch {
	case p.FunctionCall != nil:
		args, err := json.Marshal(p.FunctionCall.Args)
		if err != nil {
			t.Fatal(err)
		}
		if p.FunctionCall.Args == nil {
			args = []byte("{}")
		}
		r.Calls = append(r.Calls, modeltest.Call{ID: p.FunctionCall.ID, Tool: p.FunctionCall.Name, Args: modeltest.Canonical(args)})
		*thinking = false
	case p.ExecutableCode != nil:
		r.Marks = append(r.Marks, p.ExecutableCode.Code)
		*thinking = false
	case p.Thought:
		if !*thinking {
			r.Thoughts = append(r.Thoughts, "")
		}
		*thinking = true
		r.Thoughts[len(r.Thoughts)-1] += p.Text
		r.Heard += p.Text
	default:
		r.Text += p.Text
		r.Heard += p.Text
		*thinking = *thinking && p.Text == ""
	}
}

func geminiFailure(err error) modeltest.Failure {
	var refused genai.APIError
	if errors.As(err, &refused) {
		return modeltest.Failure{Status: refused.Code, Message: refused.Message}
	}
	return modeltest.Failure{Broken: true}
}

func geminiUsage(u *genai.GenerateContentResponseUsageMetadata) event.Usage {
	usage := event.Usage{
		InputTokens:       int(u.PromptTokenCount + u.ToolUsePromptTokenCount),
		CachedInputTokens: int(u.CachedContentTokenCount),
		OutputTokens:      int(u.CandidatesTokenCount + u.ThoughtsTokenCount),
		ReasoningTokens:   int(u.ThoughtsTokenCount),
	}
	usage.TotalTokens = usage.InputTokens + usage.OutputTokens
	return usage
}

func geminiFinish(reason genai.FinishReason, called bool) model.Finish {
	switch reason {
	case genai.FinishReasonStop:
		if called {
			return model.FinishToolCalls
		}
		return model.FinishStop
	case genai.FinishReasonMaxTokens:
		return model.FinishLength
	case genai.FinishReasonSafety, genai.FinishReasonRecitation, genai.FinishReasonBlocklist, genai.FinishReasonProhibitedContent, genai.FinishReasonSPII, genai.FinishReasonImageSafety:
		return model.FinishContentFilter
	}
	return model.FinishOther
}

// A comparison that cannot fail proves nothing: these are mistakes that it has to see.
func TestGeminiMistakesAreSeen(t *testing.T) {
	const right = `{"contents":[{"role":"user","parts":[{"text":"x"},{"inlineData":{"mimeType":"image/png","data":"eA=="}}]},` +
		`{"role":"model","parts":[{"functionCall":{"name":"read","args":{"a":1}},"thoughtSignature":"eA=="}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"x"}}}]}],` +
		`"systemInstruction":{"parts":[{"text":"s"}]},"tools":[{"functionDeclarations":[{"name":"read","parameters":{"type":"object","properties":{"a":{"type":"string","nullable":true}}}}]}],` +
		`"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"generationConfig":{"maxOutputTokens":9,"thinkingConfig":{"thinkingBudget":0}}}`
	for _, change := range [][2]string{
		{"", ""}, // none
		{`"systemInstruction"`, `"system"`},
		{`"inlineData"`, `"inline"`},
		{`"mimeType"`, `"mediaType"`},
		{`"data":"eA=="`, `"data":"e"`},
		{`"functionResponse"`, `"functionResult"`},
		{`"args":{"a":1}`, `"args":[1]`},
		{`"thoughtSignature":"eA=="`, `"thoughtSignature":"skip_it"`},
		{`"functionDeclarations"`, `"functions"`},
		{`"nullable":true`, `"nullable":"yes"`},
		{`"type":"string"`, `"allOf":[]`},
		{`"mode":"AUTO"`, `"modes":"AUTO"`},
		{`"maxOutputTokens":9`, `"maxTokens":9`},
		{`"thinkingBudget":0`, `"thinkingBudgets":0`},
	} {
		body := []byte(strings.Replace(right, change[0], change[1], 1))
		for _, o := range []geminiSDK{{}, {vertex: true}} {
			post, err := o.through(t, "m", body)
			equal := err == nil && len(post.body) > 0 && gocmp.Equal(canonical(t, body, geminiDifferences...), canonical(t, post.body))
			if want := change[0] == ""; equal != want {
				t.Errorf("%+v, %s instead of %s: equal is %v (%s, %v)", o, change[1], change[0], equal, post.body, err)
			}
		}
	}
}
