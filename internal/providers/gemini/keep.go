package gemini

import (
	"context"
	"net/http"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

const (
	// earlier is how long before its end a token is not used any more: a call takes a while.
	earlier  = time.Minute
	maxToken = 64 << 10
)

// keep returns what gives the same token as long as it lasts. A thousand Runs may ask at
// once; one of them asks the server.
func keep(ask func(context.Context) (*oauth2.Token, error)) func(context.Context) (string, error) {
	lock := make(chan struct{}, 1)
	var kept *oauth2.Token
	return func(ctx context.Context) (string, error) {
		select {
		case lock <- struct{}{}:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		defer func() { <-lock }()
		if kept != nil && time.Until(kept.Expiry) > earlier {
			return kept.AccessToken, nil
		}
		token, err := ask(ctx)
		if err != nil {
			return "", err
		}
		if !isToken(token.AccessToken) {
			return "", passing("no token: the token server gave something else")
		}
		kept = token
		return token.AccessToken, nil
	}
}

// isToken reports whether a token can stand in a header.
func isToken(s string) bool {
	return s != "" && len(s) <= maxToken && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// bounded is an HTTP client that goes nowhere else with what it carries.
func bounded(hc *http.Client) *http.Client {
	client := &http.Client{}
	if hc != nil {
		*client = *hc
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client.Jar = nil
	return client
}

// within sends requests that end with a context. The library makes some that would not,
// and keeps of an error the words alone.
type within struct {
	ctx    context.Context
	next   http.RoundTripper
	failed error
}

func (w *within) RoundTrip(r *http.Request) (*http.Response, error) {
	next := w.next
	if next == nil {
		next = http.DefaultTransport
	}
	response, err := next.RoundTrip(r.WithContext(w.ctx))
	w.failed = err
	return response, err
}
