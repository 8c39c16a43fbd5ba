package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/perstack-go/perstack/event"
)

// Requests of a server are refused, apart from a ping; nothing of them reaches anybody.
func TestServerRequests(t *testing.T) {
	answers := make(chan message, 10)
	s, _ := joinScript(t, func(m message, send func(string, ...any)) {
		switch m.Method {
		case "tools/call":
			send(`{"jsonrpc":"2.0","id":"a","method":"ping"}`)
			send(`{"jsonrpc":"2.0","id":"b","method":"roots/list"}`)
			send(`{"jsonrpc":"2.0","id":"c","method":"sampling/createMessage","params":{}}`)
			send(`{"jsonrpc":"2.0","id":"d","method":"elicitation/create","params":{}}`)
			send(`{"jsonrpc":"2.0","id":"e","method":"notifications/cancelled","params":{}}`)
			send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, m.ID)
		case "":
			answers <- m
		}
	}, nil)
	if text, _, err := work(t.Context(), s); text != "done" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	for _, id := range []string{`"a"`, `"b"`, `"c"`, `"d"`, `"e"`} {
		m := <-answers
		refused := strings.Contains(string(m.Error), "-32601")
		if string(m.ID) != id || refused == (id == `"a"`) {
			t.Errorf("%s is answered with %s", m.ID, m.Error)
		}
	}
}

// M10: a server that floods is read to its end without anything piling up; one that does
// nothing else is given up.
func TestFlood(t *testing.T) {
	flood := &flooder{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	now := time.Now()
	g := newGuard(ctx, flood, deaf{}, func() time.Time { return now })
	defer g.Close()
	if _, err := g.Read(ctx); !errors.Is(err, errFlood) {
		t.Fatal(err)
	}
	if flood.read != maxNoise+1 {
		t.Errorf("%d messages were read", flood.read)
	}
	if len(g.reply) > maxReplies {
		t.Errorf("%d answers wait", len(g.reply))
	}
	select {
	case <-g.ended.Done():
	default:
		t.Error("it is not reported")
	}
}

// A flooder sends questions without end, and reads no answer.
type flooder struct{ read int }

func (f *flooder) Read(context.Context) (jsonrpc.Message, error) {
	f.read++
	id, err := jsonrpc.MakeID(fmt.Sprint(f.read))
	return &jsonrpc.Request{ID: id, Method: "ping"}, err
}

func (f *flooder) Write(ctx context.Context, _ jsonrpc.Message) error {
	<-ctx.Done()
	return ctx.Err()
}
func (f *flooder) Close() error      { return nil }
func (f *flooder) SessionID() string { return "" }

type deaf struct{}

func (deaf) progress([]byte) {}
func (deaf) said([]byte)     {}
func (deaf) listChanged()    {}
func (deaf) dropped(string)  {}

func (deaf) redact(text string) string { return text }

// Log notifications are lines like those of the standard error.
func TestLogNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		s, _ := joinScript(t, func(m message, send func(string, ...any)) {
			if m.Method != "tools/call" {
				return
			}
			for _, params := range []string{
				`{"level":"info","logger":"db","data":"connected"}`, `{"level":"error","data":{"code": 5}}`, `{"data":"bare"}`,
				`{}`, `[]`, `{"level":5,"data":null}`, `{"level":"debug","data":"` + strings.Repeat("x", 5000) + `"}`,
			} {
				send(`{"jsonrpc":"2.0","method":"notifications/message","params":%s}`, params)
			}
			send(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, m.ID)
		}, func(o *Options) {
			o.Report = func(b event.Body) {
				if line, ok := b.(event.SkillStderr); ok {
					lines = append(lines, line.Message)
				}
			}
		})
		if text, _, err := work(t.Context(), s); text != "done" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		synctest.Wait()
		want := []string{"[info] db: connected", `[error] {"code": 5}`, "bare", "null"}
		if len(lines) != 5 || len(lines[4]) > maxLineBytes {
			t.Fatalf("%q", lines)
		}
		for i, w := range want {
			if lines[i] != w {
				t.Errorf("line %q, want %q", lines[i], w)
			}
		}
	})
}

// An error of a server is passed on, shortened; its data are kept only where they mean
// something.
func TestShorten(t *testing.T) {
	long := strings.Repeat("é", 10_000)
	short := shorten(&jsonrpc.Error{Code: -32000, Message: "start " + long + " end", Data: []byte(`{}`)}, asIs)
	if len(short.Message) > maxErrorText+100 || !strings.HasPrefix(short.Message, "start ") || !strings.HasSuffix(short.Message, " end") || short.Data != nil {
		t.Errorf("%d bytes, data %s", len(short.Message), short.Data)
	}
	if kept := shorten(&jsonrpc.Error{Code: -32022, Data: []byte(`{}`)}, asIs); string(kept.Data) != `{}` {
		t.Errorf("data %s", kept.Data)
	}
}

func TestWireID(t *testing.T) {
	for text, want := range map[string]any{`5`: int64(5), `"5"`: "5", `1.5`: nil, `1e3`: nil, `null`: nil, ``: nil, `[]`: nil, `99999999999999999999`: nil} {
		id, ok := wireID([]byte(text))
		if ok != (want != nil) || ok && id.Raw() != want {
			t.Errorf("%s: %v, %t", text, id.Raw(), ok)
		}
	}
}

// A definition is kept as it was sent: every number, and what is null.
func TestDefine(t *testing.T) {
	raw := `{"name":"work","title":"Work","description":null,"inputSchema":{"type":"object","maximum":12345678901234567890.0,"x":null},` +
		`"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"own":1},"_meta":{"a":1},"icons":[]}`
	tool, name, err := define([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"annotations":{"own":1,"readOnlyHint":true},"description":null,"inputSchema":{"maximum":12345678901234567890.0,"type":"object","x":null},` +
		`"name":"work","outputSchema":{"type":"object"},"title":"Work"}`
	if string(tool.Definition) != want || name != "work" {
		t.Errorf("definition of %s\n%s\nwant\n%s", name, tool.Definition, want)
	}
	if tool.Title != "Work" || tool.Description != "" || !tool.Repeatable || Tool(tool).ReadOnly || len(tool.Digest) != 64 {
		t.Errorf("%+v", tool)
	}
	for _, other := range []string{`"x":0`, `"x":1`, `"y":null`} {
		changed := strings.Replace(raw, `"x":null`, other, 1)
		if again, _, err := define([]byte(changed)); err != nil || again.Digest == tool.Digest {
			t.Errorf("%s has the same digest, %v", other, err)
		}
	}
	// Order and white space change nothing, and neither do members that are not shown.
	for _, same := range []string{strings.ReplaceAll(raw, `":`, `" : `), strings.Replace(raw, `"_meta":{"a":1}`, `"_meta":{"a":2}`, 1)} {
		if again, _, err := define([]byte(same)); err != nil || again.Digest != tool.Digest {
			t.Errorf("%s has another digest, %v", same, err)
		}
	}
	for hints, want := range map[string]bool{`{"idempotentHint":true}`: true, `{"readOnlyHint":"true"}`: false, `{"destructiveHint":false}`: false, `5`: false} {
		tool, _, err := define([]byte(`{"name":"a","inputSchema":{"type":"object"},"annotations":` + hints + `}`))
		if err != nil || tool.Repeatable != want {
			t.Errorf("%s: %+v, %v", hints, tool, err)
		}
	}
}
