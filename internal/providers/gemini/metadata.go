package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/perstack-go/perstack/internal/providers/wire"
)

// MetadataServer is what machines of Google Cloud ask for tokens.
const MetadataServer = "http://metadata.google.internal"

const metadataWait = 10 * time.Second // elsewhere than on Google Cloud nobody answers

// MetadataTokens returns what makes tokens on a machine of Google Cloud: its metadata
// server gives them to whoever asks from there. base is its address, if it is another.
func MetadataTokens(base string, hc *http.Client) func(context.Context) (string, error) {
	address := strings.TrimSuffix(cmp.Or(base, MetadataServer), "/") +
		"/computeMetadata/v1/instance/service-accounts/default/token?scopes=" + url.QueryEscape(cloudScope)
	client := bounded(hc)
	return keep(func(ctx context.Context) (*oauth2.Token, error) {
		ctx, cancel := context.WithTimeout(ctx, metadataWait)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, errNoMetadata
		}
		request.Header.Set("Metadata-Flavor", "Google")
		response, err := client.Do(request)
		if err != nil {
			return nil, errNoMetadata
		}
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, maxToken))
		// The header says that it is the server, and not whoever has its name elsewhere.
		switch {
		case response.Header.Get("Metadata-Flavor") != "Google":
			return nil, errNoMetadata
		case err != nil, response.StatusCode >= 500, response.StatusCode == http.StatusTooManyRequests:
			return nil, passing("no token: the metadata server is busy")
		case response.StatusCode != http.StatusOK:
			return nil, fmt.Errorf("no token: the metadata server answered %d; check the service account of this machine", response.StatusCode)
		}
		var token struct {
			Token   string `json:"access_token"`
			Seconds int64  `json:"expires_in"`
		}
		if wire.Decode(body, &token) != nil {
			return nil, errNoMetadata
		}
		lasts := time.Duration(wire.Tokens(&token.Seconds)) * time.Second
		return &oauth2.Token{AccessToken: token.Token, Expiry: time.Now().Add(lasts)}, nil
	})
}

var errNoMetadata = errors.New("there are no credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, and no machine of Google Cloud gives a token; " +
	"set it to a credentials file, or run gcloud auth application-default login")
