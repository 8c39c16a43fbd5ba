package wire_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

// What is not encrypted goes to this machine, and not by way of a proxy, which would read
// the key. What is encrypted goes through it: it is asked to connect, and told no more.
func TestProxySeesNoKey(t *testing.T) {
	var asked, connects atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method == http.MethodConnect && r.Header.Get("X-Api-Key") == "" {
			connects.Add(1)
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { sse(w, "data: {}\n\n") })
	c.HTTP = wire.NewHTTPClient(http.ProxyURL(address))
	stream, err := c.Post(t.Context(), "messages", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream.Close()
	if asked.Load() != 0 {
		t.Error("the proxy was asked for what is on this machine")
	}
	c.BaseURL = "https://provider.example/v1/"
	if _, err := c.Post(t.Context(), "messages", nil); err == nil {
		t.Error("the proxy refused, and there was an answer")
	}
	if asked.Load() == 0 || asked.Load() != connects.Load() {
		t.Errorf("asked %d times, of which %d to connect without the key", asked.Load(), connects.Load())
	}
}
