package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/model/anthropic"
)

// maxTokens is the limit under which both clients ask.
const maxTokens = 4096

// sdkClient is the SDK's client, with nothing of this machine's environment and without
// a second try.
func sdkClient(url string, more ...option.RequestOption) sdk.Client {
	return sdk.NewClient(append([]option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithBaseURL(url), option.WithAPIKey(llm.Key), option.WithMaxRetries(0),
	}, more...)...)
}

// ask asks our model. heard is the text that came before the end, good or bad.
func ask(ctx context.Context, m *anthropic.Model, req *model.Request) (answer *model.Answer, heard string, err error) {
	for chunk, e := range m.Generate(ctx, req) {
		err = e
		answer = chunk.Answer
		heard += chunk.Reasoning + chunk.Text
	}
	return answer, heard, err
}

// A reading is what a client makes of an answer.
type reading struct {
	Heard    string // piece by piece
	Thinking []model.Thinking
	Text     string
	Calls    []call
	Usage    event.Usage
	Finish   model.Finish
	Failure  failure
}

type call struct {
	ID, Tool string
	Args     any
}

// A failure has no status if the stream broke.
type failure struct {
	Status  int
	Message string
	Broken  bool
}

// An answer is a script whose first turn both clients have to read in the same way.
type answer struct {
	name   string
	script string
	want   reading // so that two clients that read nothing are not taken for equal
}

func (a answer) check(t *testing.T) {
	ours := readOurs(t, a.script, a.want.Failure.Message)
	if diff := cmp.Diff(ours, readSDKs(t, a.script)); diff != "" {
		t.Errorf("(-ours +the SDK's):\n%s", diff)
	}
	if diff := cmp.Diff(a.want, ours); diff != "" {
		t.Errorf("(-want +ours):\n%s", diff)
	}
}

// readOurs asks our client. Its errors are for people: that the service's own words are
// among them is checked, and they alone are compared.
func readOurs(t *testing.T, script, words string) (r reading) {
	_, m := start(t, script, nil)
	a, heard, err := ask(t.Context(), m, &model.Request{MaxTokens: maxTokens, Messages: user(text("Hello"))})
	r.Heard = heard
	if err != nil {
		var e *model.Error
		if !errors.As(err, &e) {
			t.Fatalf("%v is a %T", err, err)
		}
		r.Failure, r.Usage = failure{Status: e.StatusCode, Broken: e.Name == "IncompleteAnswer"}, e.Usage
		if !r.Failure.Broken {
			r.Failure.Message = e.Message
			if strings.Contains(e.Message, ": "+words) {
				r.Failure.Message = words
			}
		}
		return r
	}
	r.Thinking, r.Text, r.Usage, r.Finish = a.Thinking, a.Text, a.Usage, a.Finish
	for _, c := range a.Calls {
		r.Calls = append(r.Calls, call{c.ID, c.Tool, canonical(t, c.Args, false)})
	}
	return r
}

// readSDKs asks the SDK's client the same, in its own words.
func readSDKs(t *testing.T, script string) (r reading) {
	s, err := llm.Parse(t.Name(), []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	_, url := llm.Start(t, s)
	client := sdkClient(strings.TrimSuffix(url, "/v1"))
	stream := client.Messages.NewStreaming(t.Context(), sdk.MessageNewParams{
		Model: modelName, MaxTokens: maxTokens, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("Hello"))},
	})
	defer stream.Close()
	var m sdk.Message
	complete := false
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
		}
		complete = complete || e.Type == "message_stop"
	}
	// The SDK takes a stream that just ends for complete: that its last event has come is
	// the caller's to check.
	if err := stream.Err(); err != nil || !complete {
		r.Failure, r.Usage = sdkFailure(t, err), sdkUsage(m.Usage)
		return r
	}
	sdkMessage(t, &m, &r)
	return r
}

// sdkFailure reads an error of the SDK. Inside a stream its status is that of the head,
// which was 200; what the type stands for is what our client reports.
func sdkFailure(t *testing.T, err error) failure {
	var e *sdk.Error
	if !errors.As(err, &e) {
		return failure{Broken: true}
	}
	var body struct {
		Error struct{ Message string }
	}
	if err := json.Unmarshal([]byte(e.RawJSON()), &body); err != nil {
		t.Errorf("%v in %q", err, e.RawJSON())
	}
	status := statuses[e.Type()]
	if e.StatusCode != status && e.StatusCode != http.StatusOK {
		t.Errorf("the type %q came with the status %d", e.Type(), e.StatusCode)
	}
	return failure{Status: status, Message: body.Error.Message}
}

// statuses is what the service documents for each type of error that the SDK knows.
var statuses = map[sdk.ErrorType]int{
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

func sdkMessage(t *testing.T, m *sdk.Message, r *reading) {
	for _, b := range m.Content {
		switch b := b.AsAny().(type) {
		case sdk.TextBlock:
			r.Text += b.Text
		case sdk.ThinkingBlock:
			r.Thinking = append(r.Thinking, model.Thinking{Text: b.Thinking, Signature: b.Signature})
		case sdk.RedactedThinkingBlock:
			r.Thinking = append(r.Thinking, model.Thinking{ProviderData: []byte(`{"type":"redacted_thinking","data":"` + b.Data + `"}`)})
		case sdk.ToolUseBlock:
			r.Calls = append(r.Calls, call{b.ID, b.Name, canonical(t, b.Input, false)})
		default:
			t.Errorf("an unexpected %T", b)
		}
	}
	r.Finish = finishes[m.StopReason]
	r.Usage = sdkUsage(m.Usage)
	if len(m.JSON.ExtraFields)+len(m.Usage.JSON.ExtraFields) > 0 {
		t.Errorf("the server sends what the SDK does not know: %v %v", m.JSON.ExtraFields, m.Usage.JSON.ExtraFields)
	}
}

func sdkUsage(u sdk.Usage) event.Usage {
	usage := event.Usage{
		InputTokens:       int(u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens),
		CachedInputTokens: int(u.CacheReadInputTokens),
		OutputTokens:      int(u.OutputTokens),
		ReasoningTokens:   int(u.OutputTokensDetails.ThinkingTokens),
	}
	usage.TotalTokens = usage.InputTokens + usage.OutputTokens
	return usage
}

var finishes = map[sdk.StopReason]model.Finish{
	sdk.StopReasonEndTurn:      model.FinishStop,
	sdk.StopReasonStopSequence: model.FinishStop,
	sdk.StopReasonPauseTurn:    model.FinishStop,
	sdk.StopReasonToolUse:      model.FinishToolCalls,
	sdk.StopReasonMaxTokens:    model.FinishLength,
	sdk.StopReasonRefusal:      model.FinishContentFilter,
}
