package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Fetch reads the document at the origin's URL, with one GET that follows no redirect. agent is
// sent as the User-Agent. Errors do not repeat the URL, whose query can contain a key.
func Fetch(ctx context.Context, p Policy, agent string) ([]byte, error) {
	client := Client(p)
	defer client.CloseIdleConnections()
	response, err := askOrigin(ctx, client, p, http.MethodGet, agent)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	switch status := response.StatusCode; {
	case status/100 == 3:
		return nil, fmt.Errorf("the server answered %d and redirects; give the URL where it ends", status)
	case status/100 != 2:
		return nil, fmt.Errorf("the server answered %d", status)
	case isStream(response):
		return nil, errors.New("the server sends a stream, which has no end")
	}
	return io.ReadAll(response.Body)
}

// TryOrigin connects to the origin and asks for nothing: one HEAD of its URL that follows no redirect.
// Every answer means that the origin was reached.
func TryOrigin(ctx context.Context, p Policy, agent string) error {
	client := Client(p)
	defer client.CloseIdleConnections()
	response, err := askOrigin(ctx, client, p, http.MethodHead, agent)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// askOrigin makes one request for the origin's URL.
func askOrigin(ctx context.Context, client *http.Client, p Policy, method, agent string) (*http.Response, error) {
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	request, err := http.NewRequestWithContext(ctx, method, p.Origin.String(), nil)
	if err != nil {
		return nil, refuse(BadOrigin, "the URL cannot be used")
	}
	request.Header.Set("User-Agent", agent)
	response, err := client.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return nil, wrapped.Err
	}
	return response, err
}
