package ollama_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
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
	picture, err := base64.StdEncoding.DecodeString(png)
	if err != nil {
		t.Fatal(err)
	}
	var visits atomic.Int64
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visits.Add(1)
		if r.URL.Path == "/a.png" {
			w.Write(picture)
			return
		}
		io.WriteString(w, "Three open points.")
	}))
	defer web.Close()
	req := &model.Request{Messages: []*event.Message{
		asks(text("Look:"), linked(event.ImageURLPart, "image/png", web.URL+"/a.png"), linked(event.FileURLPart, "text/plain", web.URL+"/notes.txt")),
		says(own, calls("c1", "look", "{}")),
		results(returned("c1", "look", false, linked(event.ImageURLPart, "image/png", web.URL+"/a.png"))),
	}}
	for _, allowed := range []bool{true, false} {
		visits.Store(0)
		var bodies []string
		m := serve(t, recording(&bodies), func(c *wire.Config) { c.Fetch = &wire.Fetcher{AllowPrivate: allowed} })
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
			if !strings.Contains(body, want) || !strings.Contains(body, "an address that a tool returned is not fetched") || strings.Contains(body, web.URL) {
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
