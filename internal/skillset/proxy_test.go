package skillset

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// refusingProxy starts a proxy that says no, and tells what it was asked.
func refusingProxy(t *testing.T) (address *url.URL, asked <-chan string) {
	t.Helper()
	lines := make(chan string, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lines <- r.Method + " " + r.RequestURI
		http.Error(w, "domain", http.StatusForbidden)
	}))
	t.Cleanup(s.Close)
	address, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return address, lines
}
