package wire

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
)

func linkedPart(kind event.PartType, url string) event.Part {
	return event.Part{ID: "p", Type: kind, MIMEType: "image/png", URL: url}
}

func says(kind event.MessageType, parts ...event.Part) *event.Message {
	return &event.Message{ID: "m", Type: kind, Contents: parts}
}

// counting serves an image, and counts how often.
func counting(count *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		count.Add(1)
		io.WriteString(w, pngBytes)
	}
}

func TestResolved(t *testing.T) {
	var count atomic.Int64
	n := newNetwork(t, counting(&count))
	const address = "https://example.com/a.png"
	text := event.Part{Type: event.TextPart, Text: "Look at https://example.com/"}
	data := linkedPart(event.ImageURLPart, "data:image/png;base64,AAAA")
	odd := linkedPart(event.FileURLPart, "file:///etc/passwd")
	asked := says(event.UserMessage, text, linkedPart(event.ImageURLPart, address), data, odd, linkedPart(event.FileURLPart, address))
	before := *asked
	messages := []*event.Message{
		says(event.UserMessage, text), asked,
		says(event.ExpertMessage, linkedPart(event.ImageURLPart, address)),
		says(event.InstructionMessage, linkedPart(event.ImageURLPart, address)),
		says(event.ToolMessage, event.Part{Type: event.ToolResultPart, Contents: []event.Part{linkedPart(event.ImageURLPart, address)}}, linkedPart(event.ImageURLPart, address)),
	}
	given := append([]*event.Message{}, messages...)
	r := &Resolved{Fetch: n.fetcher().Fetch}
	first, err := r.Messages(t.Context(), messages)
	if err != nil {
		t.Fatal(err)
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(pngBytes))
	want := says(event.UserMessage, text, event.Part{ID: "p", Type: event.ImageInlinePart, MIMEType: "image/png", EncodedData: encoded}, data, odd,
		event.Part{ID: "p", Type: event.FileInlinePart, MIMEType: "image/png", EncodedData: encoded})
	if diff := cmp.Diff(want, first[1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i, m := range messages {
		if m != given[i] || i != 1 && first[i] != m {
			t.Errorf("message %d is another", i)
		}
	}
	if diff := cmp.Diff(&before, asked); diff != "" {
		t.Errorf("the message was changed (-want +got):\n%s", diff)
	}
	second, err := r.Messages(t.Context(), messages)
	if err != nil || second[1] != first[1] || count.Load() != 2 {
		t.Errorf("%v, %d downloads; want the same message as before, and two", err, count.Load())
	}
}

func TestNothingToResolve(t *testing.T) {
	linked := []*event.Message{says(event.UserMessage, linkedPart(event.ImageURLPart, "https://example.com/"))}
	plain := []*event.Message{says(event.UserMessage)}
	n := newNetwork(t, nil)
	for _, test := range []struct {
		resolved *Resolved
		messages []*event.Message
	}{
		{&Resolved{}, linked},
		{&Resolved{Fetch: n.fetcher().Fetch, Takes: func(p *event.Part) bool { return p.Type == event.ImageURLPart }}, linked},
		{&Resolved{Fetch: n.fetcher().Fetch}, plain},
		{&Resolved{Fetch: n.fetcher().Fetch}, nil},
	} {
		got, err := test.resolved.Messages(t.Context(), test.messages)
		if err != nil || len(got) != len(test.messages) || len(got) > 0 && &got[0] != &test.messages[0] || len(n.dials) > 0 {
			t.Errorf("%v, %v, dialled %q", got, err, n.dials)
		}
	}
}

// What cannot be had is said, and not asked for again.
func TestLeftOutForGood(t *testing.T) {
	var count atomic.Int64
	n := newNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		if r.URL.Path == "/page" {
			io.WriteString(w, "<html>Please log in")
			return
		}
		w.WriteHeader(http.StatusNotFound)
	})
	r := &Resolved{Fetch: n.fetcher().Fetch}
	messages := []*event.Message{says(event.UserMessage, linkedPart(event.ImageURLPart, "https://example.com/page"),
		linkedPart(event.FileURLPart, "https://example.com/gone"), linkedPart(event.FileURLPart, "https://10.0.0.7/"))}
	for range 2 {
		got, err := r.Messages(t.Context(), messages)
		if err != nil {
			t.Fatal(err)
		}
		for i, why := range []string{"its address holds no image", "its server answered 404", "its address is not a public one"} {
			want := event.Part{ID: "p", Type: event.TextPart, Text: LeftOut("image/png", why)}
			if diff := cmp.Diff(want, got[0].Contents[i]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
	if count.Load() != 2 {
		t.Errorf("%d requests", count.Load())
	}
}

// A run that was stopped in the middle is no reason to go without.
func TestInterruptedDownload(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the user stopped the run")
	var count atomic.Int64
	n := newNetwork(t, func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1) == 1 {
			cancel(stopped)
			<-r.Context().Done()
			return
		}
		io.WriteString(w, pngBytes)
	})
	r := &Resolved{Fetch: n.fetcher().Fetch}
	messages := []*event.Message{says(event.UserMessage, linkedPart(event.ImageURLPart, "https://example.com/"))}
	if got, err := r.Messages(ctx, messages); !errors.Is(err, stopped) || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	got, err := r.Messages(t.Context(), messages)
	if err != nil || got[0].Contents[0].Type != event.ImageInlinePart {
		t.Errorf("%v, %v", got, err)
	}
}

func TestManyAtOnce(t *testing.T) {
	var count atomic.Int64
	r := &Resolved{Fetch: newNetwork(t, counting(&count)).fetcher().Fetch}
	messages := []*event.Message{says(event.UserMessage, linkedPart(event.ImageURLPart, "https://example.com/"))}
	var all sync.WaitGroup
	got := make([]*event.Message, 20)
	for i := range got {
		all.Go(func() {
			resolved, err := r.Messages(t.Context(), messages)
			if err != nil {
				t.Error(err)
				return
			}
			got[i] = resolved[0]
		})
	}
	all.Wait()
	for _, m := range got {
		if m != got[0] {
			t.Error("another message")
		}
	}
	if count.Load() != 1 {
		t.Errorf("%d downloads", count.Load())
	}
}

func TestTooMuchToDownload(t *testing.T) {
	r := &Resolved{Fetch: newNetwork(t, sending("image/png", pngBytes+strings.Repeat("a", 1000))).fetcher().Fetch}
	r.most = 2000
	part := linkedPart(event.ImageURLPart, "https://example.com/")
	got, err := r.Messages(t.Context(), []*event.Message{says(event.UserMessage, part, part, part)})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []event.PartType{event.ImageInlinePart, event.ImageInlinePart, event.TextPart} {
		if p := got[0].Contents[i]; p.Type != want || want == event.TextPart && !strings.Contains(p.Text, "too much to download") {
			t.Errorf("part %d is a %s: %.100s", i, p.Type, p.Text)
		}
	}
}
