package builds

import (
	"strings"
	"testing"
)

func FuzzIssuerOf(f *testing.F) {
	f.Add("e30.eyJpc3MiOiJodHRwczovL2NpLmV4YW1wbGUifQ.c2ln")
	f.Add("a.b.c")
	f.Fuzz(func(t *testing.T, token string) {
		if issuer, err := issuerOf(token); err == nil && (issuer == "" || strings.Count(token, ".") != 2) {
			t.Errorf("%q has the issuer %q", token, issuer)
		}
	})
}
