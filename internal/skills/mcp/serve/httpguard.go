package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A guard accepts requests of clients on this machine that have the token.
//
// The token would be enough against programs. Host and Origin are checked before it against pages
// in a browser of the same user: a page can make its own name point to 127.0.0.1 (DNS rebinding),
// and can send requests across origins. It must not even learn whether a token was right.
type guard struct {
	hosts   []string // accepted values of Host
	origins []string // accepted values of Origin
	token   [sha256.Size]byte
	next    http.Handler
}

func newGuard(port int, token string, next http.Handler) *guard {
	g := &guard{token: sha256.Sum256([]byte(token)), next: next}
	for _, name := range []string{"127.0.0.1", "localhost"} {
		host := name + ":" + strconv.Itoa(port)
		g.hosts = append(g.hosts, host)
		if port == 80 { // clients leave it out
			g.hosts = append(g.hosts, name)
		}
	}
	for _, host := range g.hosts {
		g.origins = append(g.origins, "http://"+host)
	}
	return g
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case !slices.Contains(g.hosts, strings.ToLower(r.Host)):
		http.Error(w, "the Host header names another server; use the address that was printed", http.StatusForbidden)
	case !g.isOwn(r.Header.Values("Origin")):
		http.Error(w, "web pages may not use this server", http.StatusForbidden)
	case !g.knows(r.Header.Values("Authorization")):
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, "the token is missing or wrong; send it as: Authorization: Bearer TOKEN", http.StatusUnauthorized)
	case r.URL.Path != endpoint:
		http.Error(w, "there is nothing here; the server is at "+endpoint, http.StatusNotFound)
	default:
		// A handler could log it.
		r.Header.Del("Authorization")
		g.next.ServeHTTP(w, r)
	}
}

// isOwn accepts no Origin header, as programs send it, or one of our own.
func (g *guard) isOwn(origins []string) bool {
	return len(origins) == 0 || len(origins) == 1 && slices.Contains(g.origins, strings.ToLower(origins[0]))
}

// knows compares digests, so that the time that it takes says nothing about the token.
func (g *guard) knows(credentials []string) bool {
	if len(credentials) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(credentials[0], " ")
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(got[:], g.token[:]) == 1
}
