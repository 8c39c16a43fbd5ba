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
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Origin.String(), nil)
	if err != nil {
		return nil, refuse(BadOrigin, "the URL cannot be used")
	}
	request.Header.Set("User-Agent", agent)
	response, err := client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			return nil, wrapped.Err
		}
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
