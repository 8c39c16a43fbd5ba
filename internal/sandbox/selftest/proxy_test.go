package selftest

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestProxy(t *testing.T) {
	guarded := func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
		if password != "token" {
			http.Error(w, "token", http.StatusProxyAuthRequired)
			return
		}
		http.Error(w, "domain", http.StatusForbidden)
	}
	for _, c := range []struct {
		name  string
		serve http.HandlerFunc
		user  *url.Userinfo
		want  string // of the error; empty if the check passes
	}{
		{"guarded", guarded, url.UserPassword("perstack", "token"), ""},
		{"another token", guarded, url.UserPassword("perstack", "other"), "answers 407 to an outside host, and must answer 403"},
		{"without a token", guarded, nil, "wants no token"},
		{"open", func(http.ResponseWriter, *http.Request) {}, url.UserPassword("perstack", "token"), "answers 200 to an outside host"},
		{"without a token", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
			url.UserPassword("perstack", "token"), "answers 403 to a client without a token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := httptest.NewServer(c.serve)
			defer s.Close()
			_, err := proxy(t.Context(), Spec{Proxy: &url.URL{Scheme: "http", Host: strings.TrimPrefix(s.URL, "http://"), User: c.user}})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	// Where no token is asked for, that is all that is left out.
	for status, passes := range map[int]bool{http.StatusForbidden: true, http.StatusOK: false, http.StatusProxyAuthRequired: false} {
		squid := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		found, err := proxy(t.Context(), Spec{Proxy: &url.URL{Scheme: "http", Host: strings.TrimPrefix(squid.URL, "http://")}, Tokenless: true})
		squid.Close()
		if (err == nil) != passes || passes && !strings.Contains(found, "asks for no token") {
			t.Errorf("tokenless, answers %d: %q, %v", status, found, err)
		}
	}
	s := httptest.NewServer(nil)
	s.Close()
	u := &url.URL{Scheme: "http", Host: strings.TrimPrefix(s.URL, "http://"), User: url.UserPassword("perstack", "token")}
	if _, err := proxy(t.Context(), Spec{Proxy: u}); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("no server: %v", err)
	}
	if _, err := proxy(t.Context(), Spec{}); err == nil {
		t.Error("the check passed without a proxy")
	}
}
