package modeltest

import (
	"net/http"
	"slices"

	"github.com/perstack-go/perstack/event"
)

// Traits are how wires differ. Everything that is not here is the same on all.
type Traits struct {
	Keyless bool // there is nothing that proves who asks

	Thoughts    bool // what the model thinks arrives
	Marked      bool // a thought comes with what proves it, and goes back with it
	Interleaved bool // a thought may stand between calls
	Redacted    bool // a thought may be data that nobody can read

	CallIDs  bool // calls have ids of the provider
	TextArgs bool // arguments travel as text, and can be broken

	CountsCache     bool // what came from the cache is counted apart
	CountsReasoning bool // likewise thoughts
	CountsEarly     bool // the input is counted before the answer ends

	Withheld string // how the wire says that an answer was withheld; "" if it has no word

	// What is taken as it is: of the user, of a tool, and by an address that the provider
	// fetches. Anything else becomes a line that says so.
	Image, PDF, ResultImage, ResultPDF, ImageURL bool

	HostedTool string   // one that the provider runs itself, as perstack.toml names it; "" if none
	Hosted     []string // blocks about it, as the provider writes them into an answer
	HostedWord string   // a word of them, which goes back

	Forbids  string    // how a request says that no tool may be called; "" if it cannot
	Unlisted bool      // tools are left out of such a request
	Limit    string    // the member that bounds an answer, as it stands before its number
	Unworded []int     // statuses for which an error inside a stream has no word: it stands for 500
	UsedUp   string    // the kind of a 429 that is final; "" if there is none
	Extra    [2]string // a member that perstack never sends and the service takes, and its value
	Reserved string    // a member that is not the user's to set
}

var (
	messages = Traits{
		Thoughts: true, Marked: true, Interleaved: true, Redacted: true, CallIDs: true, TextArgs: true,
		CountsCache: true, CountsReasoning: true, CountsEarly: true,
		Withheld: "refusal",
		Image:    true, PDF: true, ResultImage: true, ResultPDF: true, ImageURL: true,
		HostedTool: "webSearch", Hosted: []string{
			`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"tea"}}`,
			`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.com/tea","title":"Tea","encrypted_content":"c2VhbGVk","page_age":null}]}`,
		}, HostedWord: "srvtoolu_1",
		Forbids: `"tool_choice":{"type":"none"}`, Limit: `"max_tokens":`, Unworded: []int{503},
		Extra: [2]string{"metadata", `{"user_id":"u-1"}`}, Reserved: "messages",
	}
	responses = Traits{
		Thoughts: true, Marked: true, Interleaved: true, CallIDs: true, TextArgs: true,
		CountsCache: true, CountsReasoning: true,
		Withheld: "content_filter",
		Image:    true, PDF: true, ResultImage: true, ResultPDF: true, ImageURL: true,
		HostedTool: "webSearch", Hosted: []string{`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"tea"}}`}, HostedWord: "ws_1",
		Forbids: `"tool_choice":"none"`, Limit: `"max_output_tokens":`, UsedUp: "insufficient_quota",
		Extra: [2]string{"metadata", `{"team":"a"}`}, Reserved: "input",
	}
	gemini = Traits{
		Thoughts: true, Marked: true, Interleaved: true,
		CountsCache: true, CountsReasoning: true, CountsEarly: true,
		Withheld: "SAFETY",
		Image:    true, PDF: true, ResultImage: true, ResultPDF: true,
		HostedTool: "codeExecution", Hosted: []string{`{"executableCode":{"language":"PYTHON","code":"print(1)"}}`, `{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"1\n"}}`}, HostedWord: "print(1)",
		Forbids: `"mode":"NONE"`, Limit: `"maxOutputTokens":`,
		Extra: [2]string{"cachedContent", `"cachedContents/c1"`}, Reserved: "contents",
	}
	vertex = func() Traits { w := gemini; w.ImageURL = true; return w }()
	azure  = Traits{
		CallIDs: true, TextArgs: true,
		CountsCache: true, CountsReasoning: true,
		Withheld: "content_filter",
		Image:    true, PDF: true, ResultImage: true, ResultPDF: true, ImageURL: true,
		Forbids: `"tool_choice":"none"`, Limit: `"max_completion_tokens":`, UsedUp: "insufficient_quota",
		Extra: [2]string{"seed", `7`}, Reserved: "messages",
	}
	deepseek = Traits{
		Thoughts: true, CallIDs: true, TextArgs: true,
		CountsCache: true, CountsReasoning: true,
		Withheld: "content_filter",
		Forbids:  `"tool_choice":"none"`, Limit: `"max_tokens":`,
		Extra: [2]string{"top_p", `0.5`}, Reserved: "messages",
	}
	converse = Traits{
		Thoughts: true, Marked: true, Interleaved: true, Redacted: true, CallIDs: true, TextArgs: true,
		CountsCache: true,
		Withheld:    "content_filtered",
		Image:       true, PDF: true, ResultImage: true, ResultPDF: true,
		Limit: `"maxTokens":`,
		Extra: [2]string{"requestMetadata", `{"team":"a"}`}, Reserved: "messages",
	}
	ollama = Traits{
		Keyless:  true,
		Thoughts: true, CallIDs: true, CountsCache: true,
		Image: true, ResultImage: true,
		Unlisted: true, Limit: `"num_predict":`, Unworded: []int{429, 503},
		Extra: [2]string{"keep_alive", `"5m"`}, Reserved: "messages",
	}
)

// On is what a wire can carry of a reading.
func (r Reading) On(w Traits) Reading {
	if !w.Thoughts {
		for _, thought := range r.Thoughts {
			r.Heard = cut(r.Heard, thought)
		}
		r.Thoughts = nil
	}
	if !w.CallIDs {
		calls := make([]Call, len(r.Calls))
		for i, c := range r.Calls {
			calls[i] = Call{Tool: c.Tool, Args: c.Args}
		}
		r.Calls = calls
	}
	r.Usage = w.counted(r.Usage)
	if r.Failure.InStream && slices.Contains(w.Unworded, r.Failure.Status) {
		r.Failure.Status = http.StatusInternalServerError
	}
	r.Failure.InStream = false
	return r
}

// counted is what a wire tells of usage.
func (w Traits) counted(u event.Usage) event.Usage {
	if !w.CountsCache {
		u.CachedInputTokens = 0
	}
	if !w.CountsReasoning {
		u.ReasoningTokens = 0
	}
	return u
}
