package ollama_test

import (
	"context"
	"encoding/base64"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// What a user gives by its address is downloaded once and sent as bytes; what a tool
// returns is not downloaded at all.
func TestDownloads(t *testing.T) {
	const web = "http://web.example"
	var visits atomic.Int64
	download := func(_ context.Context, address string) (wire.Medium, error) {
		visits.Add(1)
		if address == web+"/a.png" {
			return wire.Medium{Type: "image/png", Data: png}, nil
		}
		return wire.Medium{Type: wire.TypePlain, Data: base64.StdEncoding.EncodeToString([]byte("Three open points."))}, nil
	}
	req := &model.Request{Messages: []*event.Message{
		asks(text("Look:"), linked(event.ImageURLPart, "image/png", web+"/a.png"), linked(event.FileURLPart, "text/plain", web+"/notes.txt")),
		says(own, calls("c1", "look", "{}")),
		results(returned("c1", "look", false, linked(event.ImageURLPart, "image/png", web+"/a.png"))),
	}}
	for _, allowed := range []bool{true, false} {
		visits.Store(0)
		var bodies []string
		fetch := (&wire.Fetcher{}).Fetch
		if allowed {
			fetch = download
		}
		m := serve(t, recording(&bodies), func(c *wire.Config) { c.Fetch = fetch })
		for range 3 {
			if _, _, err := ask(t.Context(), m, req); err != nil {
				t.Fatal(err)
			}
		}
		want := `{"role":"user","content":"Look:\nThree open points.","images":["` + png + `"]}`
		if !allowed {
			want = `"content":"Look:\n[a part of type \"image/png\" was left out: its address is not https]`
		}
		for _, body := range bodies {
			if !strings.Contains(body, want) || !strings.Contains(body, "an address that a tool returned is not fetched") || strings.Contains(body, web) {
				t.Errorf("allowed %v: %s", allowed, body)
			}
		}
		if got := visits.Load(); allowed && got != 2 || !allowed && got != 0 {
			t.Errorf("allowed %v: %d visits", allowed, got)
		}
		if got := m.Encodings(); got != 3 {
			t.Errorf("%d encodings", got)
		}
	}
}
