package wire_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/modeltest"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
)

// TestAnthropic prints, with -v, which cases were held against the SDK in which direction.
func TestAnthropic(t *testing.T) {
	judge(t, "anthropic-sdk-go", anthropicSDK{}, []string{"anthropic"}, anthropicCases()...)
}

// The bodies that the tests of internal/providers/anthropic keep survive as well.
func TestAnthropicGoldens(t *testing.T) {
	paths, err := filepath.Glob("../../internal/providers/anthropic/testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden requests were found: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			anthropicSDK{}.survives(t, unknownBlock.ReplaceAll(body, nil), nil, append(anthropicDifferences, shortCitation)...)
		})
	}
}

// unknownBlock is one of an unknown kind. A golden has it to show that such a
// block goes back as it came; the SDK takes no message that has one.
var unknownBlock = regexp.MustCompile(`,\s*\{\s*"type": "memory"\s*\}`)

// shortCitation is one of a golden as well: that it goes back as it came is all that it
// shows.
var shortCitation = difference{
	why: "a real citation has more members, and the SDK writes all of them",
	even: func(object map[string]any) {
		if object["type"] == "web_search_result_location" {
			object["cited_text"], object["encrypted_index"] = "", ""
		}
	},
}

// anthropicSDK is the oracle of anthropic.
type anthropicSDK struct{}

// client is the SDK's, with nothing of this machine's environment and without a second
// try.
func (anthropicSDK) client(url string, more ...option.RequestOption) sdk.Client {
	return sdk.NewClient(append([]option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithBaseURL(url), option.WithAPIKey(llm.Key), option.WithMaxRetries(0),
	}, more...)...)
}

func (o anthropicSDK) Survives(t *testing.T, r llm.Recorded) {
	t.Helper()
	var betas []string
	if header := r.Header.Get("Anthropic-Beta"); header != "" {
		betas = strings.Split(header, ",")
	}
	o.survives(t, r.Raw, betas, anthropicDifferences...)
}

// survives sends a body through the types of the beta, which take every body; those
// without have to take it as well where no beta is asked for.
func (o anthropicSDK) survives(t *testing.T, body []byte, betas []string, known ...difference) {
	t.Helper()
	sent, sentBetas, err := o.throughBeta(t, body, betas)
	if err != nil {
		t.Fatalf("the SDK cannot read it: %v", err)
	}
	same(t, body, sent, known...)
	if diff := gocmp.Diff(strings.Join(betas, ","), strings.Join(sentBetas, ",")); diff != "" {
		t.Errorf("betas (-ours +the SDK's):\n%s", diff)
	}
	// A golden body does not show the header that it is sent with.
	if len(betas) > 0 || strings.Contains(string(body), `"code_execution_`) || strings.Contains(string(body), `"web_fetch_`) {
		return
	}
	if sent, err = o.throughPlain(t, body); err != nil {
		t.Fatalf("the SDK cannot read it: %v", err)
	}
	same(t, body, sent, known...)
}

func (o anthropicSDK) throughBeta(t *testing.T, body []byte, betas []string) (sent []byte, sentBetas []string, err error) {
	var params sdk.BetaMessageNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		return nil, nil, err
	}
	params.Betas = betas
	var post mailbox
	client := o.client("http://127.0.0.1", option.WithHTTPClient(&post))
	drain(client.Beta.Messages.NewStreaming(t.Context(), params))
	return post.body, post.header.Values("Anthropic-Beta"), nil
}

func (o anthropicSDK) throughPlain(t *testing.T, body []byte) ([]byte, error) {
	var params sdk.MessageNewParams
	if err := json.Unmarshal(body, &params); err != nil {
		return nil, err
	}
	var post mailbox
	client := o.client("http://127.0.0.1", option.WithHTTPClient(&post))
	drain(client.Messages.NewStreaming(t.Context(), params))
	return post.body, nil
}

// drain reads a stream to its end.
func drain(stream interface {
	Next() bool
	Close() error
}) {
	for stream.Next() {
	}
	stream.Close()
}

// anthropicDifferences are all that the SDK writes in another way than we do. Whatever is
// not listed here is a failure.
var anthropicDifferences = []difference{
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

func (o anthropicSDK) Read(t *testing.T, s *modeltest.Subject, root string, limit int) (r modeltest.Reading) {
	client := o.client(root)
	stream := client.Messages.NewStreaming(t.Context(), sdk.MessageNewParams{
		Model: sdk.Model(s.Model), MaxTokens: int64(limit), Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Hello"))},
	})
	defer stream.Close()
	var m sdk.Message
	complete := false
	written := map[int64]string{} // arguments: what is no JSON, the SDK makes empty
	for stream.Next() {
		e := stream.Current()
		if e.AsAny() == nil {
			t.Errorf("the SDK does not know the event %s", e.RawJSON())
		}
		if err := m.Accumulate(e); err != nil {
			t.Errorf("%v in %s", err, e.RawJSON())
		}
		if e.Type == "content_block_delta" {
			r.Heard += e.Delta.Thinking + e.Delta.Text
			written[e.Index] += e.Delta.PartialJSON
		}
		complete = complete || e.Type == "message_stop"
	}
	r.Usage = anthropicUsage(m.Usage)
	// The SDK takes a stream that just ends for complete: that its last event has come is
	// the caller's to check.
	if err := stream.Err(); err != nil || !complete {
		r.Failure = anthropicFailure(t, err)
		return r
	}
	anthropicMessage(t, &m, written, &r)
	return r
}

// anthropicFailure reads an error of the SDK. Inside a stream its status is that of the
// head, which was 200; what the type stands for is what our client reports.
func anthropicFailure(t *testing.T, err error) modeltest.Failure {
	var e *sdk.Error
	if !errors.As(err, &e) {
		return modeltest.Failure{Broken: true}
	}
	var body struct {
		Error struct{ Message string }
	}
	if err := json.Unmarshal([]byte(e.RawJSON()), &body); err != nil {
		t.Errorf("%v in %q", err, e.RawJSON())
	}
	status := e.StatusCode
	if status == http.StatusOK {
		status = anthropicStatuses[e.Type()]
	} else if documented := anthropicStatuses[e.Type()]; documented != status && !strings.Contains(undocumented, http.StatusText(status)) {
		t.Errorf("the type %q came with the status %d", e.Type(), status)
	}
	return modeltest.Failure{Status: status, Message: body.Error.Message}
}

// undocumented are statuses for which the service documents no type of their own.
var undocumented = http.StatusText(http.StatusRequestTimeout) + http.StatusText(http.StatusServiceUnavailable)

// anthropicStatuses is what the service documents for each type of error that the SDK
// knows.
var anthropicStatuses = map[sdk.ErrorType]int{
	sdk.ErrorTypeInvalidRequestError: 400,
	sdk.ErrorTypeAuthenticationError: 401,
	sdk.ErrorTypeBillingError:        402,
	sdk.ErrorTypePermissionError:     403,
	sdk.ErrorTypeNotFoundError:       404,
	"request_too_large":              413, // which the SDK has no name for
	sdk.ErrorTypeRateLimitError:      429,
	sdk.ErrorTypeAPIError:            500,
	sdk.ErrorTypeTimeoutError:        504,
	sdk.ErrorTypeOverloadedError:     529,
}

func anthropicMessage(t *testing.T, m *sdk.Message, written map[int64]string, r *modeltest.Reading) {
	for i, b := range m.Content {
		switch b := b.AsAny().(type) {
		case sdk.TextBlock:
			r.Text += b.Text
		case sdk.ThinkingBlock:
			r.Thoughts = append(r.Thoughts, b.Thinking)
			r.Marks = append(r.Marks, b.Signature)
		case sdk.RedactedThinkingBlock:
			r.Thoughts = append(r.Thoughts, "")
			r.Marks = append(r.Marks, b.Data)
		case sdk.ServerToolUseBlock:
			r.Marks = append(r.Marks, b.ID)
		case sdk.WebSearchToolResultBlock:
			r.Marks = append(r.Marks, b.ToolUseID)
			for _, page := range b.Content.OfWebSearchResultBlockArray {
				r.Marks = append(r.Marks, page.EncryptedContent)
			}
		case sdk.ToolUseBlock:
			args := cmp.Or(written[int64(i)], string(b.Input))
			r.Calls = append(r.Calls, modeltest.Call{ID: b.ID, Tool: b.Name, Args: parsed(args)})
		default:
			t.Errorf("an unexpected %T", b)
		}
	}
	r.Finish = anthropicFinishes[m.StopReason]
	if len(m.JSON.ExtraFields)+len(m.Usage.JSON.ExtraFields) > 0 {
		t.Errorf("the server sends what the SDK does not know: %v %v", m.JSON.ExtraFields, m.Usage.JSON.ExtraFields)
	}
}

func anthropicUsage(u sdk.Usage) event.Usage {
	usage := event.Usage{
		InputTokens:       int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens),
		CachedInputTokens: int(u.CacheReadInputTokens),
		OutputTokens:      int(u.OutputTokens),
		ReasoningTokens:   int(u.OutputTokensDetails.ThinkingTokens),
	}
	usage.TotalTokens = usage.InputTokens + usage.OutputTokens
	return usage
}

var anthropicFinishes = map[sdk.StopReason]model.Finish{
	sdk.StopReasonEndTurn:      model.FinishStop,
	sdk.StopReasonStopSequence: model.FinishStop,
	sdk.StopReasonPauseTurn:    model.FinishPause,
	sdk.StopReasonToolUse:      model.FinishToolCalls,
	sdk.StopReasonMaxTokens:    model.FinishLength,
	sdk.StopReasonRefusal:      model.FinishContentFilter,
}
