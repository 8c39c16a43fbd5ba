package bedrock_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/providers/bedrock"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/llm"
	"github.com/perstack-go/perstack/internal/testkit/llm/converse"
	"github.com/perstack-go/perstack/model"
	"github.com/perstack-go/perstack/rawjson"
)

// The first bytes of some files, in base64.
const (
	png  = "iVBORw0KGgoAAAAN"
	pdf  = "JVBERi0xLjcK"
	bmp  = "Qk0AAAAAAAAA"
	note = "bm90ZXM=" // notes
)

func thinks(s, signature string) event.Part {
	return event.Part{Type: event.ThinkingPart, Thinking: s, Signature: signature}
}

func returned(id string, isError bool, parts ...event.Part) event.Part {
	return event.Part{Type: event.ToolResultPart, ToolCallID: id, IsError: isError, Contents: parts}
}

func image(data string) event.Part {
	return event.Part{Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: data}
}

func file(kind, data string) event.Part {
	return event.Part{Type: event.FileInlinePart, MIMEType: kind, EncodedData: data}
}

func link(kind, url string) event.Part {
	return event.Part{Type: event.FileURLPart, MIMEType: kind, URL: url}
}

func cached(m *event.Message) *event.Message { m.Cache = true; return m }

var redacted = event.Part{Type: event.ThinkingPart, ProviderData: rawjson.Value(`{"redactedContent":"YWJj"}`)}

var tools = []model.Tool{
	{Name: "read", Description: "Reads a \"file\".", InputSchema: rawjson.Value(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
	{Name: "notes/add.one", Description: "a name that the service does not take"},
	{Name: "think"},
}

// A loop is a conversation that has used tools.
func loop(author string) []*event.Message {
	return []*event.Message{
		instruction("Be brief."), user("Read a and b."),
		says(author, thinks("Two files.", "sig"), redacted, text("I read. \n"), calls("c1", "read", `{"path":"a"}`), calls("c2", "notes/add.one", `{"n":1}`)),
		results(returned("c1", false, text("A")), returned("c2", true, text("no such file"))),
		says(author, calls("c3", "read", `{"path":"c"}`), calls("c4", "think", `{}`), calls("c5", "think", `{}`)),
		results(returned("c3", false, text("C"), text("D")), returned("c4", false), returned("c5", true)),
	}
}

func media() []*event.Message {
	return []*event.Message{
		asks(
			text("Look:"),
			event.Part{Type: event.ImageInlinePart, MIMEType: "image/jpeg", EncodedData: png},
			event.Part{Type: event.ImageBinaryPart, MIMEType: "image/png", Data: png},
			event.Part{Type: event.ImageURLPart, MIMEType: "image/png", URL: "data:image/png;base64," + png},
			event.Part{Type: event.ImageURLPart, MIMEType: "image/png", URL: "https://example.com/a.png"},
			file("application/pdf", pdf),
			file("text/markdown; charset=utf-8", note),
			file("text/x-go", note),
			file("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "UEsDBA=="),
			image(bmp+"QUFB"), file("image/bmp", bmp), image("?"),
			link("application/pdf", "file:///etc/passwd"), file("application/zip", "UEsDBA=="),
		),
		says(own, calls("c1", "read", "{}"), calls("c2", "read", "{}")),
		results(
			returned("c1", true, text("look"), image(png)),
			returned("c2", false, file("application/pdf", pdf), link("application/pdf", "https://example.com/secret.pdf")),
		),
	}
}

var requests = []struct {
	name   string
	change func(*bedrock.Config)
	req    model.Request
}{
	{name: "text", req: model.Request{Messages: []*event.Message{instruction("Be brief."), user("Hello \"you\"")}}},
	{name: "thinking", req: model.Request{Reasoning: "low", Tools: tools, Messages: loop(own)}},
	// Marks of another model are not sent, so the turn is ended without thinking.
	{name: "foreign", req: model.Request{Reasoning: "low", Tools: tools, Messages: loop("anthropic/claude-sonnet-4-5")}},
	// In the next turn it thinks again.
	{name: "foreign_then_user", req: model.Request{Reasoning: "high", Tools: tools[:1], Messages: []*event.Message{
		user("Read."), says("openai/gpt-5", thinks("Hm.", "sig"), redacted, calls("functions.read:0", "re ad", `"broken`)),
		results(returned("functions.read:0", true)), user("Again."),
	}}},
	{name: "media", req: model.Request{Messages: media()}},
	{name: "media_of_others", change: named(llama), req: model.Request{Messages: media()}},
	{name: "media_of_the_blind", change: func(c *bedrock.Config) { c.Known.Images, c.Known.PDF = model.Unable, model.Unable }, req: model.Request{
		Messages: []*event.Message{asks(image(png), file("application/pdf", pdf), file("text/plain", note))},
	}},
	// Nothing but a document; then some more of them, whose names continue the numbers.
	{name: "documents", req: model.Request{Messages: []*event.Message{
		asks(file("text/plain", note)), says(own, text("Yes.")), asks(file("text/csv", note), file("text/html", note), text("Both?")),
	}}},
	{name: "merged", req: model.Request{Messages: []*event.Message{
		user("One."), user(" "), user("Two."), says(own, text("Yes.")), says(own, text("")), says(own, text("No.")), user("Three."),
	}}},
	{name: "points", req: model.Request{Tools: tools[:1], Messages: []*event.Message{
		instruction("A"), cached(user("B")), cached(says(own, thinks("t", "s"))), cached(says(own, text("C"))),
		cached(user("D")), cached(user("E")), user("F"), says(own, thinks("last", "s")),
	}}},
	{name: "point_before_a_document", req: model.Request{Messages: []*event.Message{
		user("A"), says(own, text("B")), asks(text("C"), file("text/plain", note)),
	}}},
	{name: "points_of_others", change: named(llama), req: model.Request{Tools: tools[:1], Messages: []*event.Message{instruction("A"), cached(user("B"))}}},
	{name: "loop_of_others", change: named(llama), req: model.Request{Reasoning: "low", Tools: tools, Messages: loop(own)}},
	// A thought that nothing proves is not wanted back.
	{name: "unsigned", change: named(llama), req: model.Request{Messages: []*event.Message{
		user("Well?"), says("amazon-bedrock/"+llama, thinks("Hm.", ""), text("Yes.")), user("Sure?"),
	}}},
	{name: "loop_of_nova", change: named("us.amazon.nova-pro-v1:0"), req: model.Request{Reasoning: "low", Tools: tools, Messages: loop("x")}},
	// The service wants tools listed when the conversation speaks of them; else the surest
	// way to get words alone is to list none.
	{name: "text_only", req: model.Request{TextOnly: true, Tools: tools, Messages: loop(own)}},
	{name: "text_only_from_the_start", req: model.Request{TextOnly: true, Tools: tools, Messages: hello().Messages}},
	{name: "tools_gone", req: model.Request{Messages: loop(own)}},
	{name: "adaptive", change: func(c *bedrock.Config) { c.Known.Reasoning = model.ReasoningAdaptive }, req: model.Request{Reasoning: "medium", Tools: tools, Messages: loop("x")}},
	{name: "adaptive_off", change: func(c *bedrock.Config) { c.Known.Reasoning = model.ReasoningAdaptive }, req: model.Request{Reasoning: "none", Messages: hello().Messages}},
	{name: "adaptive_without_room", change: func(c *bedrock.Config) { c.Known.Reasoning = model.ReasoningAdaptive }, req: model.Request{Reasoning: "high", MaxTokens: 1279, Messages: hello().Messages}},
	{name: "effort", change: func(c *bedrock.Config) {
		c.Model, c.Known = "openai.gpt-oss-120b-1:0", model.Known{Reasoning: model.ReasoningEffort, Efforts: []string{"low", "medium", "high"}}
	}, req: model.Request{Reasoning: "9000", Messages: hello().Messages}},
	{name: "effort_of_nova", change: func(c *bedrock.Config) {
		c.Model, c.Known = "amazon.nova-2-lite-v1:0", model.Known{Reasoning: model.ReasoningEffort}
	}, req: model.Request{Reasoning: "minimal", Messages: hello().Messages}},
	{name: "effort_of_nova_off", change: func(c *bedrock.Config) {
		c.Model, c.Known = "amazon.nova-2-lite-v1:0", model.Known{Reasoning: model.ReasoningEffort}
	}, req: model.Request{Reasoning: "none", Messages: hello().Messages}},
	// The highest effort and a limit are refused together, and the limit is a budget's.
	{name: "effort_of_nova_within_a_limit", change: func(c *bedrock.Config) {
		c.Model, c.Known = "amazon.nova-2-lite-v1:0", model.Known{Reasoning: model.ReasoningEffort}
	}, req: model.Request{Reasoning: "high", MaxTokens: 500, Messages: hello().Messages}},
	{name: "guardrail", change: func(c *bedrock.Config) {
		c.Guardrail = &expert.Guardrail{Identifier: "gr-1", Version: "2", Trace: "enabled"}
	}, req: model.Request{Messages: hello().Messages}},
	{name: "extra", change: func(c *bedrock.Config) {
		c.Extra = wire.Extra{
			"inferenceConfig":                   rawjson.Value(`{"temperature":0.5,"maxTokens":900}`),
			"additionalModelRequestFields":      rawjson.Value(`{"top_k":5}`),
			"additionalModelResponseFieldPaths": rawjson.Value(`["/id"]`),
			"requestMetadata":                   rawjson.Value(`{"team":"a"}`),
		}
	}, req: model.Request{MaxTokens: 5000, Messages: hello().Messages}},
	{name: "extra_thinking", change: func(c *bedrock.Config) {
		c.Extra = wire.Extra{"additionalModelRequestFields": rawjson.Value(`{"thinking":{"type":"disabled"}}`)}
	}, req: model.Request{Reasoning: "high", Messages: hello().Messages}},
}

func TestRequests(t *testing.T) {
	for _, test := range requests {
		t.Run(test.name, func(t *testing.T) {
			body := bodyOf(t, test.change, &test.req)
			v := rawjson.Value(bytes.Clone(body))
			if err := (*jsontext.Value)(&v).Indent(jsontext.WithIndent("  ")); err != nil {
				t.Fatalf("%v in %s", err, body)
			}
			if n := strings.Count(string(body), "cachePoint"); n > 4 {
				t.Errorf("%d points", n)
			}
			testkit.Golden(t, test.name+".json", string(v)+"\n")
			cfg := config("")
			if test.change != nil {
				test.change(&cfg)
			}
			if problem := refusal(t, cfg.Model, body); problem != "" {
				t.Errorf("the service would refuse it: %s", problem)
			}
		})
	}
}

// refusal is what the scripted server finds in a request, which knows the rules of the
// service.
func refusal(t testing.TB, id string, body []byte) string {
	t.Helper()
	s, err := llm.Parse("", []byte(`
[[turn]]
reasoning = "Two files."
signature = "sig"
redacted = "YWJj"
[[turn]]
reasoning = "t"
signature = "s"
[[turn]]
reasoning = "last"
signature = "s"
`))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/model/"+url.PathEscape(id)+"/converse-stream", nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+llm.Key)
	if _, problem := converse.Wire().Look(r, body, s); problem != nil {
		return problem.Message
	}
	return ""
}

// bodyOf returns what a request looks like.
func bodyOf(t testing.TB, change func(*bedrock.Config), req *model.Request) (body []byte) {
	t.Helper()
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.Header.Get("Accept") != streamType || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %v", r.Method, r.Header)
		}
		streaming(plain...)(w, r)
	}, change)
	if _, _, err := ask(t.Context(), m, req); err != nil {
		t.Fatal(err)
	}
	return body
}

// The limit of a request lowers that of the model and never raises it. Thinking gets what
// an answer leaves, or nothing. Claude is told a limit in any case: the service's own is 4096.
func TestMaxTokens(t *testing.T) {
	for _, tt := range []struct {
		model             string
		known, own, asked int // limits: of the model, of the configuration and of the request
		reasoning         expert.ReasoningBudget
		limit, budget     int
	}{
		{sonnet, 64_000, 0, 0, "", 64_000, 0},
		{sonnet, 64_000, 0, 0, "none", 64_000, 0},
		{sonnet, 0, 0, 0, "none", 32_000, 0},
		{"us.anthropic.claude-opus-4-6-v1", 0, 0, 0, "high", 32_000, 0}, // thinks as it likes
		{"us.anthropic.claude-opus-4-6-v1", 0, 0, 900, "high", 900, 0},
		{sonnet, 64_000, 0, 0, "high", 64_000, 10_000},
		{sonnet, 64_000, 0, 1, "", 1, 0},
		{sonnet, 64_000, 0, 20_000, "high", 20_000, 10_000},
		{sonnet, 64_000, 0, 10_255, "high", 10_255, 9_999},
		{sonnet, 64_000, 0, 1_280, "high", 1_280, 1_024},
		{sonnet, 64_000, 0, 1_279, "high", 1_279, 0},
		{sonnet, 64_000, 3_000, 2_000, "high", 2_000, 1_744},
		{sonnet, 64_000, 2_000, 3_000, "high", 2_000, 1_744},
		{sonnet, 64_000, 2_000, 0, "", 2_000, 0},
		{sonnet, 0, 0, 0, "5", 5_120, 1_024},
		{sonnet, 0, 0, 0, "high", 14_096, 10_000},
		{"eu." + sonnet, 0, 0, 0, "low", 6_144, 2_048},
		{"arn:aws:bedrock:us-east-1:1:inference-profile/us." + sonnet, 0, 0, 0, "low", 6_144, 2_048},
		{"anthropic.claude-3-7-sonnet-20250219-v1:0", 0, 0, 0, "low", 6_144, 2_048},
		{"anthropic.claude-3-5-sonnet-20241022-v2:0", 0, 0, 0, "low", 0, 0},
		{"anthropic.claude-v2:1", 0, 0, 0, "low", 0, 0},
		{llama, 8_192, 0, 0, "high", 0, 0},
		{llama, 8_192, 0, 100, "high", 100, 0},
	} {
		var sent struct {
			Inference struct {
				MaxTokens int `json:"maxTokens"`
			} `json:"inferenceConfig"`
			Fields struct {
				Thinking struct {
					Budget int `json:"budget_tokens"`
				} `json:"thinking"`
			} `json:"additionalModelRequestFields"`
		}
		req := hello()
		req.MaxTokens, req.Reasoning = tt.asked, tt.reasoning
		body := bodyOf(t, func(c *bedrock.Config) {
			c.Model, c.MaxTokens, c.Known = tt.model, tt.own, model.Known{MaxOutputTokens: tt.known}
		}, req)
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatal(err)
		}
		if sent.Inference.MaxTokens != tt.limit || sent.Fields.Thinking.Budget != tt.budget {
			t.Errorf("%+v: sent %+v", tt, sent)
		}
	}
}

func TestMessagesAreEncodedOnce(t *testing.T) {
	var bodies []string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		streaming(plain...)(w, r)
	}, nil)
	req := &model.Request{Messages: []*event.Message{instruction("Be brief.")}}
	for i := range 5 { // as many documents as a request takes
		req.Messages = append(req.Messages, asks(text("Question."), file("text/plain", note), text("?")), says(own, text("Answer.")))
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		if got, want := m.Encodings(), int64(len(req.Messages)); got != want {
			t.Errorf("request %d: %d encodings of %d messages", i, got, want)
		}
		if n := strings.Count(bodies[i], "cachePoint"); n != 2 {
			t.Errorf("%d points in %s", n, bodies[i])
		}
		if names := documentNames.FindAllString(bodies[i], -1); len(names) != i+1 || len(slices.Compact(slices.Sorted(slices.Values(names)))) != i+1 {
			t.Errorf("the documents are %q", names)
		}
	}
}

var documentNames = regexp.MustCompile(`"document-[0-9]+"`)

// Media that a long conversation has gathered are left out at some point, oldest first,
// and the names of the documents that stay do not change.
func TestSlim(t *testing.T) {
	var body string
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		body = string(all)
		streaming(plain...)(w, r)
	}, nil)
	big := base64.StdEncoding.EncodeToString(append([]byte("%PDF-1.7"), make([]byte, 4_000_000)...))
	req := &model.Request{}
	for i := range 8 {
		req.Messages = append(req.Messages, asks(text("Read."), file("application/pdf", big)), says(own, text("I did.")))
		if _, _, err := ask(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
		if len(body) > bedrock.MaxMedia+10_000 {
			t.Fatalf("%d: a request of %d bytes", i, len(body))
		}
	}
	if got := strings.Join(documentNames.FindAllString(body, -1), ""); !strings.HasSuffix(got, `"document-7""document-8"`) || strings.Contains(got, `"document-1"`) {
		t.Errorf("the documents are %s", got)
	}
	if !strings.Contains(body, "sent before; left out to keep the request small") {
		t.Error("the model is not told")
	}
}

// A request has so many documents and images, however many messages they are in.
func TestSlimByNumber(t *testing.T) {
	for name, part := range map[string]event.Part{"documents": file("application/pdf", pdf), "images": image(png)} {
		req := &model.Request{}
		for i := range 50 {
			req.Messages = append(req.Messages, asks(text("Read."), part), says(own, text("I did.")), user("Go on."))
			if problem := refusal(t, sonnet, bodyOf(t, nil, req)); problem != "" {
				t.Fatalf("%d %s: the service would refuse it: %s", i+1, name, problem)
			}
		}
	}
	// And in one message, both together.
	parts := []event.Part{text("Look.")}
	for range 20 {
		parts = append(parts, image(png), file("text/plain", note))
	}
	if problem := refusal(t, sonnet, bodyOf(t, nil, &model.Request{Messages: []*event.Message{asks(parts...)}})); problem != "" {
		t.Errorf("the service would refuse it: %s", problem)
	}
}

// Tools that are called by the name that was sent are the ones that were offered.
func TestToolNames(t *testing.T) {
	body := bodyOf(t, nil, &model.Request{Tools: tools, Messages: hello().Messages})
	var sent struct {
		Config struct {
			Tools []struct {
				Spec struct {
					Name string `json:"name"`
				} `json:"toolSpec"`
			} `json:"tools"`
		} `json:"toolConfig"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Fatal(err)
	}
	for i, tool := range tools {
		name := sent.Config.Tools[i].Spec.Name
		m := serve(t, streaming(begin, ev("contentBlockStart", `{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t1","name":"`+name+`"}}}`), stop0, ending("tool_use"), counts), nil)
		answer, _, err := ask(t.Context(), m, &model.Request{Tools: tools, Messages: hello().Messages})
		if err != nil {
			t.Fatal(err)
		}
		if got := answer.Calls(); len(got) != 1 || got[0].ToolName != tool.Name {
			t.Errorf("%q was sent as %q and called as %+v", tool.Name, name, got)
		}
	}
}

// Ids of other providers stay apart, however long they are.
func TestCallIDs(t *testing.T) {
	long := strings.Repeat("x", 100)
	body := string(bodyOf(t, nil, &model.Request{Tools: tools, Messages: []*event.Message{
		user("Go."), says("x", calls(long+"1", "read", "{}"), calls(long+"2", "read", "{}"), calls("a.b", "read", "{}"), calls("", "read", "{}")),
		results(returned(long+"1", false), returned(long+"2", false), returned("a.b", false), returned("", false)),
	}}))
	ids := regexp.MustCompile(`"toolUseId":"[a-zA-Z0-9_-]{1,64}"`).FindAllString(body, -1)
	if len(ids) != 8 || len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 4 || !slices.Equal(ids[:4], ids[4:]) {
		t.Errorf("%q", ids)
	}
}

// Media that the service would refuse, and with it every later request of the job, are
// left out. The limits themselves pass.
func TestLargeMediaIsLeftOut(t *testing.T) {
	data := func(head string, size int) string {
		return base64.StdEncoding.EncodeToString([]byte(head + strings.Repeat("x", size-len(head))))
	}
	many := func(n int, p event.Part) []event.Part { return slices.Repeat([]event.Part{p}, n) }
	const isPNG, isPDF = "\x89PNG\r\n\x1a\n", "%PDF-1.7"
	for _, tt := range []struct {
		parts      []event.Part
		sent, told int
	}{
		{many(1, image(data(isPNG, 3_750_000))), 1, 0},
		{many(1, image(data(isPNG, 3_750_001))), 0, 1},
		{many(1, file("application/pdf", data(isPDF, 4_500_000))), 1, 0},
		{many(1, file("application/pdf", data(isPDF, 4_500_001))), 0, 1},
		{many(20, image(png)), 20, 0},
		{many(22, image(png)), 20, 2},
		{many(5, file("application/pdf", pdf)), 5, 0},
		{many(7, file("application/pdf", pdf)), 5, 2},
	} {
		body := string(bodyOf(t, nil, &model.Request{Messages: []*event.Message{asks(tt.parts...)}}))
		if sent, told := strings.Count(body, `"bytes"`), strings.Count(body, "was left out"); sent != tt.sent || told != tt.told {
			t.Errorf("%d of %s with %d bytes: %d sent, %d left out", len(tt.parts), tt.parts[0].MIMEType, len(tt.parts[0].EncodedData), sent, told)
		}
	}
}

// What is said of a model by its id: whether it takes points of the cache.
func TestFamilies(t *testing.T) {
	for id, want := range map[string]bool{
		sonnet: true, "global." + sonnet: true, "anthropic.claude-opus-4-7": true, "anthropic.claude-3-5-haiku-20241022-v1:0": true, "anthropic.claude-3-7-sonnet-20250219-v1:0": true,
		"anthropic.claude-3-haiku-20240307-v1:0": false, "anthropic.claude-v2:1": false, "anthropic.claude-instant-v1": false, "anthropic.claude-3-5-sonnet-20240620-v1:0": false,
		llama: false, "amazon.nova-pro-v1:0": false, "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc": false,
	} {
		if got := strings.Contains(string(bodyOf(t, named(id), hello())), "cachePoint"); got != want {
			t.Errorf("%s: that there are points is %v", id, got)
		}
	}
}

func TestConfigurationErrors(t *testing.T) {
	for want, change := range map[string]func(*bedrock.Config){
		"no model is named":                                              func(c *bedrock.Config) { c.Model = "" },
		"AWS_ACCESS_KEY_ID is not set":                                   func(c *bedrock.Config) { c.AccessKeyID = "" },
		"AWS_SECRET_ACCESS_KEY is not set":                               func(c *bedrock.Config) { c.SecretAccessKey = "" },
		"AWS_REGION is not set":                                          func(c *bedrock.Config) { c.Region = "" },
		"check AWS_SECRET_ACCESS_KEY":                                    func(c *bedrock.Config) { c.SecretAccessKey += "\n" },
		"check AWS_SESSION_TOKEN":                                        func(c *bedrock.Config) { c.SessionToken = "a b" },
		"check AWS_BEARER_TOKEN_BEDROCK":                                 func(c *bedrock.Config) { c.BearerToken = "a\nb" },
		`"evil.example/" is not a region`:                                func(c *bedrock.Config) { c.Region = "evil.example/" },
		`"us-east-1@evil.e" is not a region`:                             func(c *bedrock.Config) { c.Region = "us-east-1@evil.e" },
		"not https":                                                      func(c *bedrock.Config) { c.Client.BaseURL = "http://example.com" },
		"no provider tool \"webSearch\"; this provider runs none itself": func(c *bedrock.Config) { c.Tools = []string{"webSearch"} },
		"runs no skills itself":                                          func(c *bedrock.Config) { c.Skills = []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}} },
		"no HTTP client":                                                 func(c *bedrock.Config) { c.Client.HTTP = nil },
		`cannot set "toolConfig"`:                                        func(c *bedrock.Config) { c.Extra = wire.Extra{"toolConfig": rawjson.Value("{}")} },
		"inferenceConfig in extraBody is not":                            func(c *bedrock.Config) { c.Extra = wire.Extra{"inferenceConfig": rawjson.Value("[]")} },
		"maxTokens in extraBody is not":                                  func(c *bedrock.Config) { c.Extra = wire.Extra{"inferenceConfig": rawjson.Value(`{"maxTokens":"x"}`)} },
		`cannot set "guardrailConfig", which `: func(c *bedrock.Config) {
			c.Guardrail, c.Extra = &expert.Guardrail{}, wire.Extra{"guardrailConfig": rawjson.Value("{}")}
		},
	} {
		cfg := config("")
		change(&cfg)
		if _, err := bedrock.New(cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "amazon-bedrock: ") {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// The word for a budget is one that the model knows.
func TestEfforts(t *testing.T) {
	for _, tt := range []struct {
		words     []string
		reasoning expert.ReasoningBudget
		want      string
	}{
		{nil, "none", "low"}, {[]string{"none", "low"}, "none", "none"}, {[]string{"minimal", "low"}, "0", "minimal"}, // what is not said is medium
		{nil, "minimal", "low"}, {nil, "low", "low"}, {nil, "medium", "medium"}, {nil, "high", "high"},
		{nil, "2048", "low"}, {nil, "2049", "medium"}, {nil, "5001", "high"},
		{[]string{"minimal", "low", "high"}, "minimal", "minimal"}, {[]string{"minimal", "low", "high"}, "medium", "low"},
		{[]string{"some", "more", "most"}, "minimal", "some"}, {[]string{"some", "more", "most"}, "medium", "more"}, {[]string{"some", "more", "most"}, "high", "most"},
	} {
		body := string(bodyOf(t, func(c *bedrock.Config) {
			c.Model, c.Known = "openai.gpt-oss-120b-1:0", model.Known{Reasoning: model.ReasoningEffort, Efforts: tt.words}
		}, &model.Request{Reasoning: tt.reasoning, Messages: hello().Messages}))
		if !strings.Contains(body, `"reasoning_effort":"`+tt.want+`"`) {
			t.Errorf("%+v: %s", tt, body)
		}
	}
}
