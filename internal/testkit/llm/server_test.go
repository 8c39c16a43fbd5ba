package llm

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

func TestRefusedHeads(t *testing.T) {
	s, url := Start(t, mustParse(t, "[[turn]]\ntext = \"a\""))
	tests := []struct {
		name   string
		edit   func(*http.Request)
		status int
		want   string
	}{
		{"another path", func(r *http.Request) { r.URL.Path = "/v1/complete" }, 404, `"not_found_error"`},
		{"another method", func(r *http.Request) { r.Method = http.MethodPut }, 405, "Method Not Allowed"},
		{"no key", func(r *http.Request) { r.Header.Del("X-Api-Key") }, 401, "x-api-key header is required"},
		{"a wrong key", func(r *http.Request) { r.Header.Set("X-Api-Key", "secret") }, 401, `{"type":"authentication_error","message":"invalid x-api-key"}`},
		{"two keys", func(r *http.Request) { r.Header.Add("X-Api-Key", "secret") }, 401, "invalid x-api-key"},
		{"no version", func(r *http.Request) { r.Header.Del("Anthropic-Version") }, 400, "anthropic-version: header is required"},
		{"another version", func(r *http.Request) { r.Header.Set("Anthropic-Version", "2023-01-01") }, 400, "not a valid version"},
		{"no type", func(r *http.Request) { r.Header.Del("Content-Type") }, 400, "content-type"},
		{"another type", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 400, "content-type"},
	}
	for _, tt := range tests {
		resp, err := ask(t.Context(), url, hello, tt.edit)
		if err != nil {
			t.Fatal(err)
		}
		text := make([]byte, 1000)
		n, _ := resp.Body.Read(text)
		resp.Body.Close()
		if resp.StatusCode != tt.status || !strings.Contains(string(text[:n]), tt.want) {
			t.Errorf("%s: %d %s", tt.name, resp.StatusCode, text[:n])
		}
	}
	for i, r := range s.Requests() {
		if r.Header.Get("X-Api-Key") != "" || r.Status != tests[i].status || r.Problem == "" || r.Body.Model != "claude-test" {
			t.Errorf("%+v", r)
		}
	}
	if all := s.Requests(); all[2].KeySent || !all[3].KeySent || all[3].KeyRight || !all[5].KeyRight {
		t.Errorf("keys of %+v", all)
	}
	if a := post(t, url, strings.Repeat(" ", 32<<20+1)); a.status != 413 || !strings.Contains(a.body, "request_too_large") {
		t.Error(a)
	}
}

func TestKey(t *testing.T) {
	_, url := Start(t, mustParse(t, "key = \"other\"\n[[turn]]\ntext = \"a\""))
	if a := post(t, url, hello); a.status != 401 {
		t.Error(a)
	}
}

func TestRules(t *testing.T) {
	_, url := Start(t, mustParse(t, `
[[turn]]
contains = "needle"
text = "found"
[[turn]]
query = "about rain"
text = "rain 1"
[[turn]]
query = "about rain"
text = "rain 2"
[[turn]]
system = "You are the writer"
text = "writer 1"
[[turn]]
system = "You are the writer"
text = "writer 2"
[[turn]]
error = { status = 529 }
[[turn]]
text = "anybody 1"
cutAfter = 3
[[turn]]
text = "anybody 1"
[[turn]]
text = "anybody 2"
`))
	said := says(`{"type":"text","text":"a"}`)
	writer := `"system":[{"type":"text","text":"Now:"},{"type":"text","text":"You are the writer."}],`
	rain := `{"role":"user","content":"Write about rain."}`
	tests := []struct{ body, want string }{
		{body(writer, rain), `"rain "`},
		{body(writer, rain, said, user), `"2"`},
		{body("", rain, said, user), `"2"`},
		{body(writer), `"writer "`},
		{body(writer, user, said, user), `"2"`},
		{body(""), "overloaded_error"},
		{body(""), "content_block_start"},
		{body(""), `"1"`},
		{body(""), `"1"`}, // and so it stays
		{body(`"system":"Another.",`), "overloaded_error"},
		{body("", user, said, user), `"2"`},
		{body("", user, said, `{"role":"user","content":"a needle"}`), "found"},
		{body("", user, use, strings.Replace(results("a", "b"), "ok", "my needle", 1)), "found"},
	}
	for i, tt := range tests {
		if a := post(t, url, tt.body); !strings.Contains(a.body, tt.want) {
			t.Errorf("%d: got %v, want %s", i, a, tt.want)
		}
	}
}

// A limit that the answer would exceed ends it, as the service does.
func TestMaxTokens(t *testing.T) {
	const script = "[[turn]]\ntext = \"one two\"\nusage = { input = 9, output = 100, reasoning = 60 }\n"
	for limit, want := range map[int][2]string{
		101: {`"stop_reason":"end_turn"`, `"output_tokens":100,"output_tokens_details":{"thinking_tokens":60}`},
		100: {`"stop_reason":"end_turn"`, `"output_tokens":100,"output_tokens_details":{"thinking_tokens":60}`},
		99:  {`"stop_reason":"max_tokens"`, `"output_tokens":99,"output_tokens_details":{"thinking_tokens":60}`},
		50:  {`"stop_reason":"max_tokens"`, `"output_tokens":50,"output_tokens_details":{"thinking_tokens":50}`},
	} {
		_, url := Start(t, mustParse(t, script))
		a := post(t, url, strings.Replace(hello, `"max_tokens":100`, fmt.Sprintf(`"max_tokens":%d`, limit), 1))
		if !strings.Contains(a.body, want[0]) || !strings.Contains(a.body, want[1]) || strings.Join(texts(a.body), "") != "one two" {
			t.Errorf("%d: %s", limit, a.body)
		}
	}
}

// A server that only counts takes any number of requests.
func TestForgetting(t *testing.T) {
	script := mustParse(t, "[[turn]]\nattempt = 1\ntext = \"a\"\n[[turn]]\ntext = \"b\"")
	for _, options := range [][]Option{nil, {Forgetting()}} {
		s, url := Start(t, script, options...)
		s.requests = make([]Recorded, maxRequests-1)
		for i, want := range []int{200, 200} {
			if len(options) == 0 && i == 1 {
				want = 400
			}
			if a := post(t, url, hello); a.status != want {
				t.Errorf("%d: %+v", i, a)
			}
		}
		if got, want := [2]int{s.Count(), len(s.requests) - maxRequests + 1}, [2]int{1, 1}; len(options) == 0 && got != want || len(options) == 1 && got != [2]int{2, 0} {
			t.Errorf("%d options: %v", len(options), got)
		}
	}
}

// Fifty conversations at once, of two Experts, each with a failure on the way, get the
// answers that each would get alone.
func TestConcurrentConversations(t *testing.T) {
	s, url := Start(t, mustParse(t, `
[[turn]]
system = "writer"
eventDelay = "1ms"
[[turn.call]]
tool = "think"
[[turn]]
system = "writer"
[turn.error]
status = 529
[[turn]]
system = "writer"
text = "written"
[[turn]]
text = "lost"
cutAfter = 4
[[turn]]
text = "lead"
[[turn]]
text = "led"
`))
	var group sync.WaitGroup
	const conversations = 50
	transcripts := make([]string, conversations)
	for i := range conversations {
		group.Go(func() {
			first := fmt.Sprintf(`{"role":"user","content":"conversation %d"}`, i)
			system, second := `"system":"writer",`, []string{first, says(`{"type":"tool_use","id":"toolu_1_1","name":"think","input":{}}`), results("toolu_1_1")}
			if i%2 == 1 {
				system, second = "", []string{first, says(`{"type":"text","text":"lead"}`), user[:len(user)-2] + fmt.Sprint(i) + `"}`}
			}
			for _, b := range []string{body(system, first), body(system, second...)} {
				for range 2 {
					a := post(t, url, b)
					transcripts[i] += fmt.Sprint(a.status, a.err != nil, names(a.body), strings.Contains(a.body, "lead"), strings.Contains(a.body, "led"), strings.Contains(a.body, "written"), "\n")
				}
			}
		})
	}
	group.Wait()
	for i, got := range transcripts {
		if got != transcripts[i%2] || strings.Count(got, "\n") != 4 {
			t.Errorf("conversation %d\ngot  %s\nwant %s", i, got, transcripts[i%2])
		}
	}
	if !strings.Contains(transcripts[0], "529 false") || !strings.Contains(transcripts[1], "200 true") {
		t.Error(transcripts[:2])
	}
	if n := len(s.Requests()); n != 4*conversations {
		t.Errorf("%d requests", n)
	}
}
