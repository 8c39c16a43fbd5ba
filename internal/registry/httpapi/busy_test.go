package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/httpapi"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// Requests that need much memory wait for each other, and are refused if that takes too long. Others are
// answered meanwhile.
func TestHeavyRequestsWait(t *testing.T) {
	began, end := make(chan struct{}), make(chan struct{})
	page := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(began); <-end })
	s := newSite(t, realregistry.Options{HTTP: func(o *httpapi.Options) {
		o.Heavy, o.RequestTimeout, o.Pages = 1, time.Second, page
	}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		response, err := s.Client().Get(s.URL + "/slow")
		if err != nil {
			t.Error(err)
			return
		}
		_ = response.Body.Close()
	}()
	<-began
	for _, r := range []request{
		{method: http.MethodGet, path: api.V1 + "/experts"}, {method: http.MethodGet, path: api.V2 + "/experts"},
		{method: http.MethodPost, path: api.V2 + "/resolve", body: api.Resolve{Keys: []string{"@acme/lead"}}},
	} {
		got := s.send(r)
		got.want("503 Service Unavailable: The registry has too much to do; try again later")
		if got.header.Get("Retry-After") == "" {
			t.Error(r.path, got.header)
		}
	}
	s.get(api.LogPath + "/checkpoint")
	s.get("/healthz").want("200")
	close(end)
	<-ended
	s.get(api.V2 + "/experts").want("200")
}

// Large answers that slow clients have not read yet are bounded in all. Small ones do not depend on that.
func TestUnreadAnswers(t *testing.T) {
	var h *httpapi.Handler
	s := newSite(t, realregistry.Options{Made: func(made *httpapi.Handler) { h = made }})
	key := s.Key("acme", "team")
	large := registrytest.Minimal("@acme/large@1.0.0")
	for i := range 20 {
		large.Extensions.ProviderSkills = append(large.Extensions.ProviderSkills, expert.ProviderSkill{Type: "custom", Name: fmt.Sprint("s", i), Definition: strings.Repeat("a", 20_000)})
	}
	s.publishText(key, api.Publish{Content: large.Encode()})
	s.publish(key, "@acme/small@1.0.0")
	undo := h.Exhaust()
	content := func(name string) answer { return s.get(api.V2 + "/experts/" + name + "/content") }
	got := content("@acme/large@1.0.0")
	got.want("503 Service Unavailable: The registry has too much to do; try again later")
	if got.header.Get("Retry-After") == "" || got.header.Get("ETag") != "" || got.header.Get("Cache-Control") != "no-store" {
		t.Error(got.header)
	}
	if got := content("@acme/small@1.0.0"); got.status != http.StatusOK {
		t.Error(got.says())
	}
	undo()
	for range 3 {
		if got := content("@acme/large@1.0.0"); got.status != http.StatusOK || len(got.text) < 300<<10 {
			t.Error(got.status, len(got.text))
		}
	}
	s.Close() // which waits for the requests
	if !h.IsIdle() {
		t.Error("not all of the budget was given back")
	}
}
