package wire_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	openai "github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

// TestResponses prints, with -v, which cases were held against the SDK in which direction.
func TestResponses(t *testing.T) {
	judge(t, "openai-go (responses)", responsesSDK{}, []string{"openai"}, responsesCases()...)
}

// The bodies that the tests of internal/providers/responses keep survive as well.
func TestResponsesGoldens(t *testing.T) {
	paths, err := filepath.Glob("../../internal/providers/responses/testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden requests were found: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			responsesSDK{}.survives(t, body)
		})
	}
}

// responsesSDK is the oracle of openai.
type responsesSDK struct{}

// service is the SDK's. Made without its client, it reads nothing of this machine's
// environment.
func (responsesSDK) service(url string, more ...openaioption.RequestOption) responses.ResponseService {
	return responses.NewResponseService(append([]openaioption.RequestOption{
		openaioption.WithBaseURL(url), openaioption.WithAPIKey(llm.Key), openaioption.WithMaxRetries(0),
	}, more...)...)
}

func (o responsesSDK) Survives(t *testing.T, r llm.Recorded) {
	t.Helper()
	o.survives(t, r.Raw)
}

func (o responsesSDK) survives(t *testing.T, body []byte) {
	t.Helper()
	post, err := o.through(t, body)
	if err != nil {
		t.Fatalf("the SDK cannot read it: %v", err)
	}
	if post.url != "/v1/responses" || post.header.Get("Authorization") != "Bearer "+llm.Key {
		t.Errorf("the SDK asks %s, and proves who it is by %q", post.url, post.header.Get("Authorization"))
	}
	same(t, body, post.body, responsesDifferences...)
}

// through sends a body through the SDK's types.
func (o responsesSDK) through(t *testing.T, body []byte) (post mailbox, err error) {
	var params responses.ResponseNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		return post, err
	}
	if err := outputMessages(body, &params); err != nil {
		return post, err
	}
	if unknown := unknownUnion(reflect.ValueOf(params)); unknown != "" {
		return post, errors.New("nothing the SDK knows: " + unknown)
	}
	service := o.service("http://127.0.0.1/v1", openaioption.WithHTTPClient(&post))
	drain(service.NewStreaming(t.Context(), params))
	return post, nil
}

// outputMessages names the type of messages that the model wrote. The SDK has three for
// what is called a message, and takes the first, which has no ids.
func outputMessages(body []byte, params *responses.ResponseNewParams) error {
	var raw struct {
		Input []json.RawMessage
	}
	if err := json.Unmarshal(body, &raw); err != nil {
		return err
	}
	for i, item := range raw.Input {
		var known struct{ Type, Role, ID string }
		if err := json.Unmarshal(item, &known); err != nil {
			return err
		}
		if known.Type != "message" || known.Role != "assistant" || known.ID == "" {
			continue
		}
		var written responses.ResponseOutputMessageParam
		if err := json.Unmarshal(item, &written); err != nil {
			return err
		}
		params.Input.OfInputItemList[i] = responses.ResponseInputItemUnionParam{OfOutputMessage: &written}
	}
	return nil
}

// unknownUnion finds what the SDK could not read as any of the types it may be, and would
// pass on as it is. It returns the name of the union, or "".
func unknownUnion(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return unknownUnion(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if found := unknownUnion(v.Index(i)); found != "" {
				return found
			}
		}
	case reflect.Struct:
		isUnion, read := false, false
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			if strings.HasPrefix(field.Name, "Of") {
				isUnion, read = true, read || !v.Field(i).IsZero()
			}
			if found := unknownUnion(v.Field(i)); found != "" {
				return found
			}
		}
		if isUnion && !read && !v.IsZero() {
			return v.Type().Name()
		}
	}
	return ""
}

// responsesDifferences are all that the SDK writes in another way than we do. Whatever is
// not listed here is a failure.
var responsesDifferences = []difference{
	{
		why: "schemas are any to the SDK, which makes float64 of their numbers: large ones lose digits, which ours keep",
		even: func(object map[string]any) {
			if object["type"] == "function" {
				object["parameters"] = asFloats(object["parameters"])
			}
		},
	},
}

func (o responsesSDK) Read(t *testing.T, s *modeltest.Subject, root string, limit int) (r modeltest.Reading) {
	service := o.service(root + "/v1")
	stream := service.NewStreaming(t.Context(), responses.ResponseNewParams{
		Model: s.Model, Store: openai.Bool(false), MaxOutputTokens: openai.Int(int64(limit)),
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Hello")},
	})
	defer stream.Close()
	var last *responses.Response
	for stream.Next() {
		e := stream.Current()
		switch v := e.AsAny().(type) {
		case nil:
			t.Errorf("the SDK does not know the event %s", e.RawJSON())
		case responses.ResponseReasoningSummaryPartAddedEvent:
			if v.SummaryIndex > 0 {
				r.Heard += "\n\n" // between paragraphs, as we show them
			}
		case responses.ResponseReasoningSummaryTextDeltaEvent:
			r.Heard += v.Delta
		case responses.ResponseTextDeltaEvent:
			r.Heard += v.Delta
		case responses.ResponseRefusalDeltaEvent:
			r.Heard += v.Delta
		case responses.ResponseCompletedEvent:
			last = &v.Response
		case responses.ResponseIncompleteEvent:
			last = &v.Response
		}
	}
	// The SDK takes a stream that just ends for complete: that its last event has come is
	// the caller's to check.
	if err := stream.Err(); err != nil || last == nil {
		r.Failure = responsesFailure(t, err)
		return r
	}
	responsesMessage(t, last, &r)
	return r
}

// responsesFailure reads an error of the SDK. One inside a stream has no status; what its
// code stands for is what our client reports.
func responsesFailure(t *testing.T, err error) modeltest.Failure {
	var refused *openai.Error
	var inside *ssestream.StreamError
	switch {
	case errors.As(err, &refused):
		return modeltest.Failure{Status: refused.StatusCode, Message: refused.Message}
	case errors.As(err, &inside):
		var body struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal(inside.Event.Data, &body); err != nil {
			t.Errorf("%v in %q", err, inside.Event.Data)
		}
		status, known := responsesStatuses[body.Error.Code]
		if !known {
			t.Errorf("the test does not know what %q stands for", body.Error.Code)
		}
		return modeltest.Failure{Status: status, Message: body.Error.Message}
	}
	return modeltest.Failure{Broken: true}
}

// responsesStatuses is what the codes of errors inside a stream stand for.
var responsesStatuses = map[string]int{
	string(responses.ResponseErrorCodeServerError):       500,
	string(responses.ResponseErrorCodeRateLimitExceeded): 429,
	"insufficient_quota":                                 429,
	"service_unavailable":                                503,
}

func responsesMessage(t *testing.T, last *responses.Response, r *modeltest.Reading) {
	refused := false
	for _, item := range last.Output {
		switch v := item.AsAny().(type) {
		case responses.ResponseOutputMessage:
			for _, c := range v.Content {
				r.Text += c.Text + c.Refusal
				refused = refused || c.Refusal != ""
			}
			if len(v.Content) > 0 && r.Text != "" {
				r.Marks = append(r.Marks, tail(v.ID), string(v.Phase))
			}
		case responses.ResponseReasoningItem:
			var paragraphs []string
			for _, part := range v.Summary {
				paragraphs = append(paragraphs, part.Text)
			}
			r.Thoughts = append(r.Thoughts, strings.Join(paragraphs, "\n\n"))
			r.Marks = append(r.Marks, tail(v.ID), v.EncryptedContent)
		case responses.ResponseFunctionToolCall:
			r.Calls = append(r.Calls, modeltest.Call{ID: v.CallID, Tool: v.Name, Args: parsed(v.Arguments)})
			r.Marks = append(r.Marks, tail(v.ID))
		case responses.ResponseFunctionWebSearch:
			r.Marks = append(r.Marks, v.ID)
		case responses.ResponseCodeInterpreterToolCall:
			r.Marks = append(r.Marks, v.ID, v.Code)
		default:
			t.Errorf("an unexpected %T", v)
		}
	}
	r.Usage = responsesUsage(last.Usage)
	r.Finish = responsesFinish(last, len(r.Calls) > 0, refused)
	if len(last.JSON.ExtraFields)+len(last.Usage.JSON.ExtraFields) > 0 {
		t.Errorf("the server sends what the SDK does not know: %v %v", last.JSON.ExtraFields, last.Usage.JSON.ExtraFields)
	}
}

// tail is the end of an id, as it is in JSON. What is before it belongs to the request,
// of which each client has its own.
func tail(id string) string { return id[strings.LastIndex(id, "_"):] + `"` }

func responsesUsage(u responses.ResponseUsage) event.Usage {
	used := event.Usage{
		InputTokens:       int(u.InputTokens),
		CachedInputTokens: int(u.InputTokensDetails.CachedTokens),
		OutputTokens:      int(u.OutputTokens),
		ReasoningTokens:   int(u.OutputTokensDetails.ReasoningTokens),
		TotalTokens:       int(u.TotalTokens),
	}
	return used
}

func responsesFinish(last *responses.Response, calls, refused bool) model.Finish {
	switch {
	case last.IncompleteDetails.Reason == "max_output_tokens":
		return model.FinishLength
	case last.IncompleteDetails.Reason == "content_filter":
		return model.FinishContentFilter
	case last.Status != responses.ResponseStatusCompleted:
		return model.FinishOther
	case calls:
		return model.FinishToolCalls
	case refused:
		return model.FinishContentFilter
	}
	return model.FinishStop
}

// responsesCases are what only OpenAI has: thoughts in paragraphs, refusals in words, and
// what it runs itself.
func responsesCases() []modeltest.Case {
	once, always := modeltest.Once, modeltest.Always
	code := `{"type":"code_interpreter_call","id":"ci_1","status":"completed","code":"1+1","container_id":"cntr_1","outputs":[{"type":"logs","logs":"2"}]}`
	return []modeltest.Case{
		{Name: "a thought in paragraphs", Talk: always(once("reasoning = \"One.\\n\\nTwo.\"\ntext = \"Yes.\"\n",
			modeltest.Reading{Heard: "One.\n\nTwo.Yes.", Thoughts: []string{"One.\n\nTwo."}, Text: "Yes.", Finish: model.FinishStop}))},
		{Name: "a thought that is hidden", Talk: always(modeltest.Talk{
			Script: "[[turn]]\nredacted = \"c2VjcmV0\"\ntext = \"Yes.\"\n[[turn]]\ntext = \"Bye.\"\n",
			Said:   []modeltest.Say{modeltest.User(modeltest.Text("Well?")), modeltest.User(modeltest.Text("Sure?"))},
			Want: []modeltest.Reading{
				{Heard: "Yes.", Thoughts: []string{""}, Text: "Yes.", Finish: model.FinishStop},
				{Heard: "Bye.", Text: "Bye.", Finish: model.FinishStop},
			},
			Has: []string{"c2VjcmV0"},
		})},
		{Name: "a refusal in words", Talk: always(once("text = \"I will not.\"\nstop = \"refusal\"\n",
			modeltest.Reading{Heard: "I will not.", Text: "I will not.", Finish: model.FinishContentFilter}))},
		{Name: "code that the provider ran", Talk: always(modeltest.Talk{
			Script: "[[turn]]\nreasoning = \"I count.\"\nhosted = ['" + code + "']\ntext = \"Two.\"\n[[turn]]\ntext = \"Bye.\"\n",
			Said:   []modeltest.Say{modeltest.User(modeltest.Text("Count.")), modeltest.User(modeltest.Text("Sure?"))},
			Place:  modeltest.Place{Tools: []string{"codeInterpreter"}}, Reasoning: "low",
			Want: []modeltest.Reading{
				{Heard: "I count.Two.", Thoughts: []string{"I count."}, Text: "Two.", Finish: model.FinishStop},
				{Heard: "Bye.", Text: "Bye.", Finish: model.FinishStop},
			},
			Has: []string{"cntr_1"},
		})},
	}
}

// A comparison that cannot fail proves nothing: these are mistakes that it has to see.
func TestResponsesMistakesAreSeen(t *testing.T) {
	const right = `{"model":"m","stream":true,"store":false,"max_output_tokens":99,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"low","summary":"auto"},` +
		`"tools":[{"type":"function","name":"t","parameters":{"type":"object","properties":{}},"strict":false},{"type":"web_search","filters":{"allowed_domains":["a"]}}],"tool_choice":"auto",` +
		`"input":[{"type":"message","role":"developer","content":"x"},{"type":"message","role":"user","content":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"https://a"}]},` +
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"},` +
		`{"type":"message","id":"msg_1","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":"x","annotations":[]}]},` +
		`{"type":"function_call","id":"fc_1","call_id":"c","name":"t","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}]}`
	for _, change := range [][2]string{
		{"", ""}, // none
		{`"max_output_tokens"`, `"max_tokens"`},
		{`"stream":true`, `"stream":false`},
		{`"store":false`, `"store":"no"`},
		{`"reasoning":{"effort"`, `"reasoning":{"efforts"`},
		{`"summary":"auto"`, `"summaries":"auto"`},
		{`"strict":false`, `"stricter":false`},
		{`"filters":{"allowed_domains"`, `"filters":{"domains"`},
		{`"type":"input_text"`, `"type":"input_texts"`},
		{`"image_url"`, `"url"`},
		{`"encrypted_content":"x"`, `"encrypted":"x"`},
		{`"phase"`, `"phases"`},
		{`"type":"output_text"`, `"type":"output"`},
		{`"call_id":"c","name"`, `"tool_call_id":"c","name"`},
		{`"arguments":"{}"`, `"arguments":{}`},
		{`"output":"x"`, `"result":"x"`},
		{`"function_call_output"`, `"function_call_outputs"`},
	} {
		body := []byte(strings.Replace(right, change[0], change[1], 1))
		post, err := responsesSDK{}.through(t, body)
		equal := err == nil && len(post.body) > 0 && gocmp.Equal(canonical(t, body, responsesDifferences...), canonical(t, post.body))
		if want := change[0] == ""; equal != want {
			t.Errorf("%s instead of %s: equal is %v (%s, %v)", change[1], change[0], equal, post.body, err)
		}
	}
}
