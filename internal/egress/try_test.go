package egress

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// Every answer means that an origin was reached; a server that is gone does not answer.
func TestTryOrigin(t *testing.T) {
	status := http.StatusUnauthorized
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.Header.Get("User-Agent") != "me" {
			t.Errorf("%s by %q", r.Method, r.Header.Get("User-Agent"))
		}
		w.WriteHeader(status)
	}))
	origin, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := Policy{Origin: origin, AllowPrivate: true}
	for _, status = range []int{200, 302, 401, 500} {
		if err := TryOrigin(t.Context(), p, "me"); err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
	if err := TryOrigin(t.Context(), Policy{Origin: origin}, "me"); err == nil {
		t.Error("a private address was reached")
	}
	server.Close()
	if err := TryOrigin(t.Context(), p, "me"); err == nil {
		t.Error("a server that is gone was reached")
	}
}
