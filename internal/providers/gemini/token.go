package gemini

import (
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/jwt"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const (
	cloudScope      = "https://www.googleapis.com/auth/cloud-platform"
	defaultTokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // an address

	// earlier is how long before its end a token is not used any more: a call takes a while.
	earlier  = time.Minute
	maxToken = 64 << 10
)

// Credentials are what a credentials file of Google Cloud says.
type Credentials struct {
	Type     string `json:"type"`
	TokenURL string `json:"token_uri"` // where tokens are asked for

	ClientEmail  string `json:"client_email"`
	PrivateKeyID string `json:"private_key_id"`
	PrivateKey   string `json:"private_key"`

	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`

	ask func(context.Context) (*oauth2.Token, error) // asks for a token once
}

// ReadCredentials reads the file of a service account, or of a user who logged in with
// gcloud. Other kinds are refused: they name files, programs and addresses, whose contents
// go from one to the other. No error shows a secret.
func ReadCredentials(data []byte) (*Credentials, error) {
	var c Credentials
	if err := wire.Decode(data, &c); err != nil {
		return nil, errors.New("the credentials file is not one of Google Cloud; it is JSON with a type") // err may quote it
	}
	c.TokenURL = cmp.Or(c.TokenURL, defaultTokenURL)
	// It is where a signed assertion goes, or a refresh token.
	if err := (&wire.Client{Provider: vertex, BaseURL: c.TokenURL}).Check(); err != nil {
		return nil, errors.New("the token_uri of the credentials file is not an https address")
	}
	switch c.Type {
	case "service_account":
		if c.ClientEmail == "" || !isKey(c.PrivateKey) {
			return nil, errors.New("the credentials file has no client_email or no private key that can be read; download it again")
		}
		account := jwt.Config{
			Email: c.ClientEmail, PrivateKey: []byte(c.PrivateKey), PrivateKeyID: c.PrivateKeyID,
			Scopes: []string{cloudScope}, TokenURL: c.TokenURL,
		}
		c.ask = func(ctx context.Context) (*oauth2.Token, error) { return account.TokenSource(ctx).Token() }
	case "authorized_user":
		if c.ClientID == "" || c.RefreshToken == "" {
			return nil, errors.New("the credentials file has no client_id or no refresh_token; run gcloud auth application-default login")
		}
		user := oauth2.Config{
			ClientID: c.ClientID, ClientSecret: c.ClientSecret, Scopes: []string{cloudScope},
			Endpoint: oauth2.Endpoint{TokenURL: c.TokenURL, AuthStyle: oauth2.AuthStyleInParams},
		}
		refresh := &oauth2.Token{RefreshToken: c.RefreshToken}
		c.ask = func(ctx context.Context) (*oauth2.Token, error) { return user.TokenSource(ctx, refresh).Token() }
	default:
		return nil, fmt.Errorf("credentials of type %.60q are not taken, since they make perstack read files and call addresses that they name; use those of a service account, or run gcloud auth application-default login", c.Type)
	}
	return &c, nil
}

// Tokens returns what makes tokens. One is asked for through hc, and used until it is about
// to expire. No error shows a secret.
func (c *Credentials) Tokens(hc *http.Client) func(context.Context) (string, error) {
	return keep(func(ctx context.Context) (*oauth2.Token, error) {
		client := wire.Staying(hc)
		transport := &within{ctx: ctx, next: cmp.Or(hc.Transport, http.DefaultTransport)}
		client.Transport = transport
		token, err := c.ask(context.WithValue(ctx, oauth2.HTTPClient, client))
		if err != nil {
			return nil, explainToken(ctx, err, transport.failed)
		}
		return token, nil
	})
}

// within sends requests that end with a context. The library makes some that would not,
// and keeps of an error the words alone.
type within struct {
	ctx    context.Context
	next   http.RoundTripper
	failed error
}

func (w *within) RoundTrip(r *http.Request) (response *http.Response, err error) {
	response, w.failed = w.next.RoundTrip(r.WithContext(w.ctx))
	return response, w.failed
}

// isKey reports whether a private key can be read, so that one that cannot is found out
// before the first call.
func isKey(text string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		_, ok := key.(*rsa.PrivateKey)
		return ok
	}
	_, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	return err == nil
}

// explainToken says why there is no token, in words that show neither what was sent nor
// what came back. failed is what the network said, if it did.
func explainToken(ctx context.Context, err, failed error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var refused *oauth2.RetrieveError
	if hint, final := wire.Unreachable(failed); hint != "" {
		return &model.Error{Name: apiCallError, Message: vertex + ": no token: the token server cannot be reached; " + hint, Retryable: !final}
	}
	if !errors.As(err, &refused) || refused.Response == nil {
		return passing("no token: the token server cannot be reached or gave none")
	}
	status := refused.Response.StatusCode
	var words struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = json.Unmarshal(refused.Body, &words) // it may be any page
	text := fmt.Sprintf("no token: the token server answered %d", status)
	// A word of the standard's: no secret has that form.
	if word := words.Error; word != "" && len(word) <= 40 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_") == "" {
		text += " " + word
	}
	if slices.Contains(knownWords, words.Description) {
		text += " (" + words.Description + ")"
	}
	passes := status == http.StatusTooManyRequests || status >= 500
	if !passes {
		text += "; check the credentials file, or log in again"
	}
	return &model.Error{Name: apiCallError, Message: vertex + ": " + text, StatusCode: status, Retryable: passes}
}

const apiCallError = "AI_APICallError" // the name that users of the original know

// passing is a failure that may be gone at the next try.
func passing(text string) error {
	return &model.Error{Name: apiCallError, Message: vertex + ": " + text, Retryable: true}
}

// knownWords are descriptions that Google gives. What else a server writes may quote what it
// was sent.
var knownWords = []string{
	"Invalid JWT Signature.", "Token has been expired or revoked.", "Bad Request",
	"Invalid grant: account not found", "Account has been deleted",
}

// MetadataServer is what machines of Google Cloud ask for tokens.
const MetadataServer = "http://metadata.google.internal"

const metadataWait = 10 * time.Second // outside Google Cloud there is no answer

// MetadataTokens returns what makes tokens on a machine of Google Cloud: its metadata
// server gives them to every process there. base is another address of it; "" is the usual.
func MetadataTokens(base string, hc *http.Client) func(context.Context) (string, error) {
	address := strings.TrimSuffix(cmp.Or(base, MetadataServer), "/") +
		"/computeMetadata/v1/instance/service-accounts/default/token?scopes=" + url.QueryEscape(cloudScope)
	client := wire.Staying(hc)
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
		// The header proves that it is the server, and not another one of the same name.
		switch {
		case response.Header.Get("Metadata-Flavor") != "Google":
			return nil, errNoMetadata
		case err != nil, response.StatusCode >= 500, response.StatusCode == http.StatusTooManyRequests:
			return nil, passing("no token: the metadata server is busy")
		case response.StatusCode != http.StatusOK:
			return nil, fmt.Errorf("no token: the metadata server answered %d; check the service account of this machine", response.StatusCode)
		}
		var token struct {
			Token   string     `json:"access_token"`
			Seconds wire.Count `json:"expires_in"`
		}
		if wire.Decode(body, &token) != nil {
			return nil, errNoMetadata
		}
		lasts := time.Duration(token.Seconds) * time.Second
		return &oauth2.Token{AccessToken: token.Token, Expiry: time.Now().Add(lasts)}, nil
	})
}

var errNoMetadata = errors.New("there are no credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, and no machine of Google Cloud gives a token; " +
	"set it to a credentials file, or run gcloud auth application-default login")

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
