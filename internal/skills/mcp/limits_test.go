package mcp

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perstack-go/perstack/skill"
)

// Of the notes of progress of one call, so many are passed on; all of them count as news.
func TestNotesAreBounded(t *testing.T) {
	s, _ := joinScript(t, func(m message, send func(string, ...any)) {
		if m.Method != "tools/call" {
			return
		}
		for i := range 1_500 {
			send(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"message":"at it"}}`, progressOf(m), i)
		}
		send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, m.ID)
	}, nil)
	notes := make(chan string, 2_000)
	ctx := skill.WithProgress(t.Context(), func(_, note string) { notes <- note })
	if text, isError, err := work(ctx, s); text != "done" || isError || err != nil {
		t.Fatalf("%q, %t, %v", text, isError, err)
	}
	if len(notes) != 1_000 {
		t.Errorf("%d notes, want 1000", len(notes))
	}
}

// A name that is longer than any provider takes, or that people cannot read, is no tool.
func TestBadToolNames(t *testing.T) {
	longest := strings.Repeat("x", 128)
	var log strings.Builder
	connection, _ := play(t, func(m message, send func(string, ...any)) {
		if m.Method != "tools/list" {
			polite(ignore)(m, send)
			return
		}
		var tools []string
		for _, name := range []string{longest, longest + "x", "a\u200bb", " a", "a ", "", "a\tb", "fine"} {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name))
		}
		tools = append(tools, `{"name":"slow","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}`)
		send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.ID, strings.Join(tools, ","))
	})
	s, err := join(t, connection, func(o *Options) { o.Log = textLog(&log) })
	if err != nil {
		t.Fatal(err)
	}
	tools, err := s.Tools(t.Context())
	if err != nil || len(tools) != 2 || tools[0].Name != longest || tools[1].Name != "fine" {
		t.Errorf("%+v, %v", tools, err)
	}
	for _, why := range []string{"longer than 128 bytes", "cannot be seen", "begins or ends with a blank", "it has no name", "<U+200B>", "slow: it can be called as a task only"} {
		if !strings.Contains(log.String(), why) {
			t.Errorf("the log does not say %q:\n%s", why, log.String())
		}
	}
	if n := strings.Count(log.String(), "left out"); n != 1 {
		t.Errorf("%d warnings about one list:\n%s", n, log.String())
	}
}

// What holds when a skill says nothing of times: a minute to start, a minute for a call
// without news, and two seconds for a pending that old servers do not know.
func TestTimesByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		connection, _ := play(t, func(m message, send func(string, ...any)) {
			if m.Method != "server/discover" && m.Method != "tools/call" {
				polite(ignore)(m, send)
			}
		})
		s, err := join(t, connection, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Since(began); got != seconds(2) {
			t.Errorf("an old server was ready after %v", got)
		}
		began = time.Now()
		text, isError, err := work(t.Context(), s)
		if !isError || err != nil || !strings.Contains(text, "reported nothing for 1m0s") || time.Since(began) != time.Minute {
			t.Errorf("after %v: %q, %t, %v", time.Since(began), text, isError, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		connection, _ := play(t, func(m message, send func(string, ...any)) {
			if m.Method != "initialize" {
				polite(ignore)(m, send)
			}
		})
		if _, err := join(t, connection, nil); err == nil || time.Since(began) != time.Minute {
			t.Errorf("a server that never greets: %v after %v", err, time.Since(began))
		}
	})
}

func textLog(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
