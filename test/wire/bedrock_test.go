package wire_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/schemas"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"
	awsbearer "github.com/aws/smithy-go/auth/bearer"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/restjson1"
	gocmp "github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/bedrock"
	"github.com/perstack-go/perstack/internal/providers/modeltest"
	ourwire "github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/llm/converse"
	"github.com/perstack-go/perstack/model"
)

// TestBedrock prints, with -v, which cases were held against the SDK in which direction.
func TestBedrock(t *testing.T) {
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "") // which the SDK would read
	judge(t, "aws-sdk-go-v2/service/bedrockruntime", bedrockSDK{}, []string{"amazon-bedrock"}, bedrockCases()...)
}

// The bodies that the tests of internal/providers/bedrock keep survive as well.
func TestBedrockGoldens(t *testing.T) {
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "")
	paths, err := filepath.Glob("../../internal/providers/bedrock/testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden requests were found: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			body, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			bedrockSDK{}.survives(t, body, "m")
		})
	}
}

// bedrockSDK is the oracle of amazon-bedrock.
type bedrockSDK struct{}

const bedrockRegion = "us-east-1"

// client is the SDK's, with nothing of this machine's environment and without a second
// try.
func (bedrockSDK) client(url string, transport bedrockruntime.HTTPClient, more ...func(*bedrockruntime.Options)) *bedrockruntime.Client {
	return bedrockruntime.New(bedrockruntime.Options{
		Region: bedrockRegion, BaseEndpoint: &url, HTTPClient: transport, Retryer: aws.NopRetryer{},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: converse.AccessKeyID, SecretAccessKey: llm.Key}, nil
		}),
	}, more...)
}

// ownBody sends requests with a body that only the transport closes. The SDK closes its own as soon as
// an answer has begun. If the server is quick, the transport is still looking for the end of the body
// then, takes that for a failure and closes the connection.
type ownBody struct{}

func (ownBody) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body = io.NopCloser(bytes.NewReader(body))
	return http.DefaultClient.Do(r)
}

func (o bedrockSDK) Survives(t *testing.T, r llm.Recorded) {
	t.Helper()
	if sent := o.survives(t, r.Raw, r.Asked.Model); sent.url != r.URI {
		t.Errorf("we ask %s, the SDK %s", r.URI, sent.url)
	}
	if accept := r.Header.Get("Accept"); accept != "application/vnd.amazon.eventstream" {
		t.Errorf("we ask for %s", accept)
	}
}

func (o bedrockSDK) survives(t *testing.T, body []byte, modelID string) (post mailbox) {
	t.Helper()
	input, err := o.decode(body)
	if err != nil {
		t.Fatalf("the SDK cannot read it: %v", err)
	}
	input.ModelId = &modelID
	output, err := o.client("http://127.0.0.1", &post).ConverseStream(t.Context(), input)
	if err != nil {
		t.Fatal(err)
	}
	output.GetStream().Close()
	if !strings.HasPrefix(post.header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential="+converse.AccessKeyID+"/") {
		t.Errorf("the SDK sends %v", post.header)
	}
	same(t, body, post.body, bedrockDifferences...)
	return post
}

// bedrockDifferences are all that the SDK writes in another way than we do. Whatever is
// not listed here is a failure.
var bedrockDifferences = []difference{
	{
		why: "arguments, schemas and the model's own fields are documents to the SDK, which makes float64 of their numbers: large ones lose digits, which ours keep",
		even: func(object map[string]any) {
			for _, name := range []string{"input", "json", "additionalModelRequestFields"} {
				if document, ok := object[name].(map[string]any); ok {
					object[name] = asFloats(document)
				}
			}
		},
	},
}

// decode reads a body into the SDK's parameters, by the SDK's own reader. The SDK has one
// for what is said, since it can count its tokens; the rest is read member by member.
func (bedrockSDK) decode(body []byte) (*bedrockruntime.ConverseStreamInput, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil {
		return nil, err
	}
	var talk types.ConverseTokensRequest
	if err := readShape(schemas.ConverseTokensRequest, body, &talk); err != nil {
		return nil, err
	}
	in := &bedrockruntime.ConverseStreamInput{
		Messages: talk.Messages, System: talk.System, ToolConfig: talk.ToolConfig, AdditionalModelRequestFields: talk.AdditionalModelRequestFields,
	}
	for name, raw := range members {
		var err error
		switch name {
		case "messages", "system", "toolConfig", "additionalModelRequestFields":
		case "inferenceConfig":
			in.InferenceConfig = &types.InferenceConfiguration{}
			err = readShape(schemas.InferenceConfiguration, raw, in.InferenceConfig)
		case "guardrailConfig":
			in.GuardrailConfig = &types.GuardrailStreamConfiguration{}
			err = readShape(schemas.GuardrailStreamConfiguration, raw, in.GuardrailConfig)
		case "additionalModelResponseFieldPaths":
			err = json.Unmarshal(raw, &in.AdditionalModelResponseFieldPaths)
		case "requestMetadata":
			err = json.Unmarshal(raw, &in.RequestMetadata)
		default:
			err = fmt.Errorf("there is no member %q", name)
		}
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

// readShape reads JSON as the SDK reads the body of an answer.
func readShape(schema *smithy.Schema, body []byte, out smithy.Deserializable) error {
	response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}
	return restjson1.New(schemas.AmazonBedrockFrontendService).DeserializeResponse(
		context.Background(), smithy.NewOperationSchema(schemas.Converse, schemas.ConverseRequest, schema), nil, &smithyhttp.Response{Response: response}, out)
}

func (o bedrockSDK) Read(t *testing.T, s *modeltest.Subject, root string, limit int) (r modeltest.Reading) {
	tokens := int32(limit)
	output, err := o.client(root, ownBody{}).ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{
		ModelId: &s.Model, InferenceConfig: &types.InferenceConfiguration{MaxTokens: &tokens},
		Messages: []types.Message{{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "Hello"}}}},
	})
	if err != nil {
		r.Failure = bedrockFailure(t, err)
		return r
	}
	stream := output.GetStream()
	defer stream.Close()
	var a bedrockAnswer
	for e := range stream.Events() {
		a.take(t, e, &r)
	}
	// The SDK takes a stream that just ends for complete, also inside a frame: that its
	// last event has come is the caller's to check.
	if err := stream.Err(); err != nil || !a.counted {
		r.Failure = bedrockFailure(t, err)
		return r
	}
	a.finish(&r)
	return r
}

// A bedrockAnswer puts an answer together, which the SDK leaves to its callers.
type bedrockAnswer struct {
	blocks  []*bedrockBlock
	reason  types.StopReason
	counted bool
}

type bedrockBlock struct {
	index              int32
	text, thought      string
	hidden             []byte
	signature          string
	call               *types.ToolUseBlockStart
	input              string
	isText, isThinking bool
}

func (a *bedrockAnswer) block(index *int32) *bedrockBlock {
	for _, b := range a.blocks {
		if b.index == *index {
			return b
		}
	}
	b := &bedrockBlock{index: *index}
	a.blocks = append(a.blocks, b)
	return b
}

func (a *bedrockAnswer) take(t *testing.T, e types.ConverseStreamOutput, r *modeltest.Reading) {
	switch e := e.(type) {
	case *types.ConverseStreamOutputMemberMessageStart, *types.ConverseStreamOutputMemberContentBlockStop:
	case *types.ConverseStreamOutputMemberContentBlockStart:
		start, ok := e.Value.Start.(*types.ContentBlockStartMemberToolUse)
		if !ok {
			t.Errorf("a block starts as %T", e.Value.Start)
			return
		}
		a.block(e.Value.ContentBlockIndex).call = &start.Value
	case *types.ConverseStreamOutputMemberContentBlockDelta:
		a.grow(t, a.block(e.Value.ContentBlockIndex), e.Value.Delta, r)
	case *types.ConverseStreamOutputMemberMessageStop:
		a.reason = e.Value.StopReason
	case *types.ConverseStreamOutputMemberMetadata:
		a.counted = true
		u := e.Value.Usage
		r.Usage = event.Usage{
			InputTokens:       int(*u.InputTokens + aws.ToInt32(u.CacheReadInputTokens) + aws.ToInt32(u.CacheWriteInputTokens)),
			CachedInputTokens: int(aws.ToInt32(u.CacheReadInputTokens)),
			OutputTokens:      int(*u.OutputTokens),
			TotalTokens:       int(*u.TotalTokens),
		}
	default:
		t.Errorf("the SDK does not know the event %+v", e)
	}
}

func (a *bedrockAnswer) grow(t *testing.T, b *bedrockBlock, delta types.ContentBlockDelta, r *modeltest.Reading) {
	switch d := delta.(type) {
	case *types.ContentBlockDeltaMemberText:
		b.text, b.isText = b.text+d.Value, true
		r.Heard += d.Value
	case *types.ContentBlockDeltaMemberToolUse:
		b.input += *d.Value.Input
	case *types.ContentBlockDeltaMemberReasoningContent:
		b.isThinking = true
		switch d := d.Value.(type) {
		case *types.ReasoningContentBlockDeltaMemberText:
			b.thought += d.Value
			r.Heard += d.Value
		case *types.ReasoningContentBlockDeltaMemberSignature:
			b.signature += d.Value
		case *types.ReasoningContentBlockDeltaMemberRedactedContent:
			b.hidden = append(b.hidden, d.Value...)
		default:
			t.Errorf("the SDK does not know the thought %T", d)
		}
	default:
		t.Errorf("the SDK does not know the delta %T", d)
	}
}

func (a *bedrockAnswer) finish(r *modeltest.Reading) {
	for _, b := range a.blocks {
		if b.isThinking {
			r.Thoughts = append(r.Thoughts, b.thought)
		}
		if b.signature != "" {
			r.Marks = append(r.Marks, b.signature)
		}
		if len(b.hidden) > 0 {
			r.Marks = append(r.Marks, base64.StdEncoding.EncodeToString(b.hidden))
		}
		if b.call != nil {
			r.Calls = append(r.Calls, modeltest.Call{ID: *b.call.ToolUseId, Tool: *b.call.Name, Args: parsed(b.input)})
		}
		r.Text += b.text
	}
	r.Finish = model.FinishOther
	if known, ok := bedrockFinishes[a.reason]; ok {
		r.Finish = known
	}
}

var bedrockFinishes = map[types.StopReason]model.Finish{
	types.StopReasonEndTurn:                    model.FinishStop,
	types.StopReasonStopSequence:               model.FinishStop,
	types.StopReasonToolUse:                    model.FinishToolCalls,
	types.StopReasonMaxTokens:                  model.FinishLength,
	types.StopReasonModelContextWindowExceeded: model.FinishLength,
	types.StopReasonContentFiltered:            model.FinishContentFilter,
	types.StopReasonGuardrailIntervened:        model.FinishContentFilter,
}

// bedrockFailure reads an error of the SDK. Inside a stream there is no status; what the
// service documents for the kind is what our client reports.
func bedrockFailure(t *testing.T, err error) modeltest.Failure {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return modeltest.Failure{Broken: true}
	}
	f := modeltest.Failure{Message: api.ErrorMessage()}
	var response *smithyhttp.ResponseError
	if errors.As(err, &response) {
		f.Status = response.HTTPStatusCode()
		return f
	}
	status, ok := map[string]int{
		"ValidationException": 400, "ThrottlingException": 429, "ModelStreamErrorException": 424, "InternalServerException": 500, "ServiceUnavailableException": 503,
	}[api.ErrorCode()]
	if !ok {
		t.Errorf("the SDK does not know %q inside a stream", api.ErrorCode())
	}
	f.Status = status
	return f
}

// bedrockCases are what only Bedrock has: points of its cache, documents, other families
// and reasons to stop.
func bedrockCases() []modeltest.Case {
	user, text := modeltest.User, modeltest.Text
	hello := "[[turn]]\ntext = \"Hello.\"\n"
	heard := []modeltest.Reading{{Heard: "Hello.", Text: "Hello.", Finish: model.FinishStop}}
	marked := func([]event.Part) (all []*event.Message) {
		for _, kind := range []event.MessageType{event.InstructionMessage, event.UserMessage, event.UserMessage} {
			all = append(all, &event.Message{Type: kind, Cache: true, Contents: []event.Part{text("Be brief.")}})
		}
		return all
	}
	note := event.Part{Type: event.FileInlinePart, MIMEType: "text/markdown", EncodedData: "bm90ZXM="}
	all := []modeltest.Case{
		{Name: "cache points", Talk: modeltest.Always(modeltest.Talk{Script: hello, Said: []modeltest.Say{marked}, Tools: modeltest.Tools(), Want: heard})},
		{Name: "documents", Talk: modeltest.Always(modeltest.Talk{Script: hello, Said: []modeltest.Say{user(note, note)}, Want: heard})},
	}
	for reason, finish := range bedrockFinishes {
		all = append(all, modeltest.Case{Name: "stop " + string(reason), Talk: modeltest.Always(modeltest.Once(
			"text = \"x\"\nstop = \""+string(reason)+"\"\n", modeltest.Reading{Heard: "x", Text: "x", Finish: finish}))})
	}
	const words = "the service says \"no\""
	return append(all, modeltest.Case{Name: "status 424", Talk: modeltest.Always(modeltest.Once(
		fmt.Sprintf("[turn.error]\nstatus = 424\nmessage = %q\n", words),
		modeltest.Reading{Failure: modeltest.Failure{Status: 424, Message: words}}))})
}

// The SDK proves itself to the scripted server, by its key and by a token; and a key that
// is wrong is seen.
func TestBedrockKeys(t *testing.T) {
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "")
	for name, tt := range map[string]struct {
		change func(*bedrockruntime.Options)
		right  bool
	}{
		"signed": {func(*bedrockruntime.Options) {}, true},
		"a session": {func(o *bedrockruntime.Options) {
			o.Credentials = bedrockKey(converse.AccessKeyID, llm.Key, converse.SessionToken)
		}, true},
		"another region": {func(o *bedrockruntime.Options) { o.Region = "eu-west-1" }, true},
		"a wrong key":    {func(o *bedrockruntime.Options) { o.Credentials = bedrockKey(converse.AccessKeyID, "x", "") }, false},
		"a wrong id":     {func(o *bedrockruntime.Options) { o.Credentials = bedrockKey("AKIDOTHER", llm.Key, "") }, false},
		"an old session": {func(o *bedrockruntime.Options) { o.Credentials = bedrockKey(converse.AccessKeyID, llm.Key, "old") }, false},
		"a token":        {bedrockToken(llm.Key), true},
		"a wrong token":  {bedrockToken("x"), false},
	} {
		for _, id := range []string{"anthropic.claude-sonnet-4-5-20250929-v1:0", "arn:aws:bedrock:us-east-1:1:inference-profile/a b"} {
			server, root := modeltest.Serve(t, "[[turn]]\ntext = \"Hello.\"\n")
			output, err := bedrockSDK{}.client(root, ownBody{}, tt.change).ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{
				ModelId: &id, Messages: []types.Message{{Role: types.ConversationRoleUser, Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "Hello"}}}},
			})
			if err == nil {
				output.GetStream().Close()
			}
			if got := server.Requests(); (err == nil) != tt.right || len(got) != 1 || got[0].KeyRight != tt.right || got[0].Asked.Model != id {
				t.Errorf("%s: %v, %+v", name, err, got)
			}
		}
	}
}

func bedrockKey(id, secret, session string) aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: id, SecretAccessKey: secret, SessionToken: session}, nil
	})
}

func bedrockToken(token string) func(*bedrockruntime.Options) {
	return func(o *bedrockruntime.Options) {
		o.AuthSchemePreference = []string{"httpBearerAuth"}
		o.BearerAuthTokenProvider = awsbearer.StaticTokenProvider{Token: awsbearer.Token{Value: token}}
		o.BearerAuthSigner = bedrockPlainBearer{} // the SDK's own wants https
	}
}

// bedrockPlainBearer adds a token to any request.
type bedrockPlainBearer struct{}

func (bedrockPlainBearer) SignWithBearerToken(_ context.Context, token awsbearer.Token, message awsbearer.Message) (awsbearer.Message, error) {
	r := message.(*smithyhttp.Request).Clone()
	r.Header.Set("Authorization", "Bearer "+token.Value)
	return r, nil
}

// A comparison that cannot fail proves nothing: these are mistakes that it has to see.
func TestBedrockMistakesAreSeen(t *testing.T) {
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "")
	const right = `{"system":[{"text":"x"},{"cachePoint":{"type":"default"}}],"toolConfig":{"tools":[{"toolSpec":{"name":"t","inputSchema":{"json":{"type":"object"}}}}],"toolChoice":{"auto":{}}},` +
		`"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"YQ=="}}},{"document":{"format":"txt","name":"document-1","source":{"bytes":"YQ=="}}},{"text":"x"}]},` +
		`{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"x","signature":"s"}}},{"reasoningContent":{"redactedContent":"YQ=="}},{"toolUse":{"toolUseId":"a","name":"t","input":{}}}]},` +
		`{"role":"user","content":[{"toolResult":{"toolUseId":"a","content":[{"text":"x"}],"status":"error"}}]}],` +
		`"inferenceConfig":{"maxTokens":9},"guardrailConfig":{"guardrailIdentifier":"x","guardrailVersion":"1","trace":"enabled"},"additionalModelResponseFieldPaths":["/x"]}`
	for _, change := range [][2]string{
		{"", ""}, // none
		{`"system"`, `"systems"`},
		{`"cachePoint":{"type":"default"}`, `"cachePoint":{"kind":"default"}`},
		{`"toolSpec"`, `"tool_spec"`},
		{`"inputSchema":{"json":{"type":"object"}}`, `"inputSchema":{"type":"object"}`},
		{`"toolChoice":{"auto":{}}`, `"toolChoice":{"none":{}}`},
		{`"source":{"bytes":"YQ=="}`, `"source":{"data":"YQ=="}`},
		{`"name":"document-1"`, `"title":"document-1"`},
		{`"reasoningText":{"text":"x"`, `"reasoningText":{"thinking":"x"`},
		{`"signature"`, `"sign"`},
		{`"redactedContent"`, `"redacted"`},
		{`"toolUseId":"a","name"`, `"id":"a","name"`},
		{`"input":{}`, `"arguments":{}`},
		{`"toolResult":{"toolUseId":"a"`, `"toolResult":{"id":"a"`},
		{`"status":"error"`, `"isError":true`},
		{`"maxTokens"`, `"max_tokens"`},
		{`"guardrailIdentifier"`, `"identifier"`},
		{`"inferenceConfig"`, `"inference"`},
	} {
		body := []byte(strings.Replace(right, change[0], change[1], 1))
		input, err := bedrockSDK{}.decode(body)
		var post mailbox
		if err == nil {
			input.ModelId = aws.String("m")
			var output *bedrockruntime.ConverseStreamOutput
			if output, err = (bedrockSDK{}).client("http://127.0.0.1", &post).ConverseStream(t.Context(), input); err == nil {
				output.GetStream().Close()
			}
		}
		equal := err == nil && json.Valid(post.body) && gocmp.Equal(canonical(t, body, bedrockDifferences...), canonical(t, post.body))
		if want := change[0] == ""; equal != want {
			t.Errorf("%s instead of %s: equal is %v (%s, %v)", change[1], change[0], equal, post.body, err)
		}
	}
}

// Where a region's models are is what the SDK says.
func TestBedrockEndpoints(t *testing.T) {
	for _, region := range []string{"us-east-1", "eu-central-1", "us-gov-west-1", "cn-north-1", "eusc-de-east-1"} {
		theirs, err := bedrockruntime.NewDefaultEndpointResolverV2().ResolveEndpoint(t.Context(), bedrockruntime.EndpointParameters{Region: &region}.WithDefaults())
		if err != nil {
			t.Fatal(err)
		}
		var post bedrockHost
		m, err := bedrock.New(bedrock.Config{
			Config:      ourwire.Config{Provider: "amazon-bedrock", Model: "m", Client: ourwire.Client{HTTP: &http.Client{Transport: &post}}},
			AccessKeyID: "id", SecretAccessKey: "secret", Region: region,
		})
		if err != nil {
			t.Fatal(err)
		}
		for range m.Generate(t.Context(), &model.Request{}) {
		}
		if post.host != theirs.URI.Host {
			t.Errorf("%s: we ask %s, the SDK %s", region, post.host, theirs.URI.Host)
		}
	}
}

// A bedrockHost keeps to which host a request goes.
type bedrockHost struct {
	mailbox
	host string
}

// RoundTrip is the transport's.
func (h *bedrockHost) RoundTrip(r *http.Request) (*http.Response, error) {
	h.host = r.URL.Host
	return h.mailbox.RoundTrip(r)
}
