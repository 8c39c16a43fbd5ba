package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
)

func TestEvents(t *testing.T) {
	const stream = "\ufeffevent: endpoint\ndata: /x\n\n" +
		"\n\n: a comment\n\nretry: 5\n\n" +
		"id: 1\r\ndata: a\r\ndata:b\r\ndata:  c\r\n\r\n" +
		"data\n\n" +
		"unknown: x\nevent: other\n\n" +
		"id: 2\n\n" +
		"data: the end cuts it off\n"
	want := []serverEvent{
		{name: "endpoint", data: []byte("/x")},
		{id: "1", data: []byte("a\nb\n c")},
		{},
		{name: "other"},
		{id: "2"},
	}
	e := newEvents(strings.NewReader(stream))
	for i, w := range want {
		got, err := e.next()
		if err != nil || got.name != w.name || got.id != w.id || !bytes.Equal(got.data, w.data) {
			t.Errorf("event %d is %+v, %v; want %+v", i, got, err, w)
		}
	}
	if got, err := e.next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %+v, %v behind the last one", got, err)
	}
}

// The largest message passes, one byte more does not, however it is cut into fields.
func TestLargestEvent(t *testing.T) {
	for _, test := range []struct {
		stream string
		want   error
	}{
		{"data: " + strings.Repeat("x", frame.MaxBytes) + "\n\n", nil},
		{"data: " + strings.Repeat("x", maxEvent-len("data: \n")) + "\n\n", errLargeEvent}, // the empty line counts
		{"data: " + strings.Repeat("x", maxEvent-len("data: \n\n")) + "\n\n", nil},
		{"id: " + strings.Repeat("x", maxEvent/2) + "\ndata: " + strings.Repeat("x", maxEvent/2) + "\n\n", errLargeEvent},
	} {
		if _, err := newEvents(strings.NewReader(test.stream)).next(); !errors.Is(err, test.want) {
			t.Errorf("%d bytes: got error %v, want %v", len(test.stream), err, test.want)
		}
	}
}

// The stream of the older transport: what follows the first event closely is not lost,
// lists are taken apart, a bad message is one bad message, and the end is the end.
func TestOlderStream(t *testing.T) {
	note := func(n int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","method":"note-%d"}`, n) }
	w := newWeb(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: endpoint\ndata: post\n\nevent: message\ndata: %s\n\ndata: [%s,%s]\n\ndata: {\"a\":1,\"a\":2}\n\nevent: ping\ndata: x\n\ndata: %s\n\n", note(1), note(2), note(3), note(4))
	}))
	c, err := openSSE(t.Context(), remoteAt(t, w.URL+"/a/sse", true))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 5 {
		message, err := c.Read(t.Context())
		if _, bad := errors.AsType[*frame.Error](err); bad {
			got = append(got, "bad")
		} else if request, ok := message.(*jsonrpc.Request); ok {
			got = append(got, request.Method)
		} else {
			t.Fatal(err)
		}
	}
	if want := "note-1 note-2 note-3 bad note-4"; strings.Join(got, " ") != want {
		t.Errorf("read %v, want %s", got, want)
	}
	for range 2 {
		if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %v", err)
		}
	}

	message, err := frame.Parse([]byte(note(5)))
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, remoteError(c.Write(t.Context(), message)), "the server answered 418 I'm a teapot")
	if seen := w.requests(); seen[len(seen)-1].URL.Path != "/a/post" || seen[len(seen)-1].Header.Get("X-Team") != headerCanary {
		t.Errorf("posted to %s with %v", seen[len(seen)-1].URL, seen[len(seen)-1].Header)
	}
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Write(t.Context(), message); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after the end: %v", err)
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}
