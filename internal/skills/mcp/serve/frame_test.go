package serve_test

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/perstack-go/perstack/skill"
)

const echo = `{"jsonrpc":"2.0","id":"good","method":"tools/call","params":{"name":"echo"}}`

// A bad frame is answered and skipped: the next request is served.
func TestBadFrames(t *testing.T) {
	deep := func(n int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}}}`
	}
	tests := []struct {
		name, line string
		id         string
		code       int
		message    string
	}{
		{"no JSON", `hello`, "null", -32700, "not valid JSON"},
		{"half a message", `{"jsonrpc":"2.0","id":1`, "null", -32700, "ends too early"},
		{"two on a line", echo + echo, "null", -32700, "text behind it"},
		{"a name twice", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, "null", -32700, "given twice"},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "null", -32700, "wrong at byte"},
		{"deep", deep(200), "null", -32700, "nested more than"},
		{"very deep", deep(1 << 20), "null", -32700, "nested more than"},
		{"a batch", `[` + echo + `]`, "null", -32600, "batches are not accepted"},
		{"a number", `12`, "null", -32600, "not a JSON object"},
		{"another version", `{"jsonrpc":"1.0","id":5,"method":"ping"}`, "5", -32600, "version"},
		{"no version", `{"id":"a","method":"ping"}`, `"a"`, -32600, "version"},
		{"letter case", `{"JSONRPC":"2.0","id":"a","method":"ping"}`, `"a"`, -32600, "version"},
		{"a long version", `{"jsonrpc":"` + strings.Repeat("x", 1<<20) + `","id":5,"method":"ping"}`, "5", -32600, "version"},
		{"nothing in it", `{"jsonrpc":"2.0"}`, "null", -32600, "invalid request"},
		{"an id in parts", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "1.5", -32600, "whole number"},
		{"a huge id", `{"jsonrpc":"2.0","id":1e300,"method":"ping"}`, "1e300", -32600, "whole number"},
		{"an id that is none", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null", -32600, "invalid ID"},
		{"too long", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 17<<20) + `"}`, "null", -32600, "longer than 16777216 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := converse(t, &tools{}, tt.line, "", "  ", echo)
			if len(all) != 2 {
				t.Fatalf("%d answers, want two: %+v", len(all), all)
			}
			bad := all[0]
			if bad.Error == nil || string(bad.ID) != tt.id || bad.Error.Code != tt.code || !strings.Contains(bad.Error.Message, tt.message) {
				t.Errorf("id %s, %+v; want id %s, code %d, %q", bad.ID, bad.Error, tt.id, tt.code, tt.message)
			}
			if bad.Error != nil && len(bad.Error.Message) > 400 {
				t.Errorf("the message has %d bytes", len(bad.Error.Message))
			}
			if string(all[1].ID) != `"good"` || all[1].Error != nil {
				t.Errorf("behind it: %+v", all[1])
			}
		})
	}
	if all := converse(t, &tools{}, deep(100)); len(all) != 1 || all[0].Error != nil {
		t.Errorf("a call of a sensible depth: %+v", all)
	}
}

// What the protocol refuses is refused, and nothing breaks.
func TestBadRequests(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"no/such"}`,
		`{"jsonrpc":"2.0","id":1,"method":""}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
	} {
		all := converse(t, &tools{}, line, echo)
		if len(all) != 2 {
			t.Fatalf("%s: %+v", line, all)
		}
		for _, a := range all { // answers may overtake each other
			if (string(a.ID) == "1") != (a.Error != nil) {
				t.Errorf("%s: id %s, error %+v, result %s", line, a.ID, a.Error, a.Result)
			}
		}
	}
	// These get no answer: they ask for none.
	for _, line := range []string{
		`{"jsonrpc":"2.0","method":"notifications/no-such"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`,
	} {
		if all := converse(t, &tools{}, line, echo); len(all) != 1 || string(all[0].ID) != `"good"` {
			t.Errorf("%s: %+v", line, all)
		}
	}
}

// Nothing is served to a client that has not introduced itself.
func TestNotInitialized(t *testing.T) {
	w := start(t.Context(), t, &tools{}, skill.Filter{})
	go func() {
		_, _ = io.WriteString(w.in, echo+"\n")
		_ = w.in.Close()
	}()
	if all := read(t, w.out); len(all) != 1 || all[0].Error == nil {
		t.Errorf("%+v", all)
	}
}

// A client that asks faster than it is answered is told so. Nothing piles up.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const requests = 500
		s := &tools{begun: make(chan string, requests)}
		var lines []string
		for i := range requests {
			lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait"}}`, i+1))
		}
		all := converse(t, s, lines...)
		busy := 0
		for _, a := range all {
			if a.Error != nil && a.Error.Code == -32000 && strings.Contains(a.Error.Message, "too many requests") {
				busy++
			}
		}
		if s.most != 16 {
			t.Errorf("%d calls ran at once, want 16", s.most)
		}
		if len(all) != requests || busy != requests-64 {
			t.Errorf("%d answers, %d of them refusals; want %d and %d", len(all), busy, requests, requests-64)
		}
	})
}
