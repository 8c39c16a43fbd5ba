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
)

// credentials are what a credentials file of Google Cloud says.
type credentials struct {
	Type     string `json:"type"`
	TokenURL string `json:"token_uri"`

	ClientEmail  string `json:"client_email"`
	PrivateKeyID string `json:"private_key_id"`
	PrivateKey   string `json:"private_key"`

	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	RefreshToken string `json:"refresh_token"`
}

// TokenSource returns what makes tokens from the credentials of a service account, or of a
// user who logged in with gcloud. Other kinds are refused: they name files, programs and
// addresses, whose contents go from one to the other. A token is asked for through hc, and
// used until it is about to expire. No error shows a secret.
func TokenSource(data []byte, hc *http.Client) (func(context.Context) (string, error), error) {
	c, err := readCredentials(data)
	if err != nil {
		return nil, err
	}
	ask, err := c.asker()
	if err != nil {
		return nil, err
	}
	client := bounded(hc)
	return keep(func(ctx context.Context) (*oauth2.Token, error) {
		inside := *client
		transport := &within{ctx: ctx, next: client.Transport}
		inside.Transport = transport
		token, err := ask(context.WithValue(ctx, oauth2.HTTPClient, &inside))
		if err != nil {
			return nil, explainToken(ctx, err, transport.failed)
		}
		return token, nil
	}), nil
}

// TokenServer is the address that [TokenSource] asks for tokens.
func TokenServer(data []byte) (string, error) {
	c, err := readCredentials(data)
	if err != nil {
		return "", err
	}
	return c.TokenURL, nil
}

func readCredentials(data []byte) (*credentials, error) {
	var c credentials
	if err := wire.Decode(data, &c); err != nil {
		return nil, errors.New("the credentials file is not one of Google Cloud; it is JSON with a type") // err may quote it
	}
	if c.TokenURL == "" {
		c.TokenURL = defaultTokenURL
	}
	// It is where a signed assertion goes, or a refresh token.
	if err := (&wire.Client{Provider: vertex, BaseURL: c.TokenURL}).Check(); err != nil {
		return nil, errors.New("the token_uri of the credentials file is not an https address")
	}
	return &c, nil
}

// asker returns what asks for a token once.
func (c *credentials) asker() (func(context.Context) (*oauth2.Token, error), error) {
	switch c.Type {
	case "service_account":
		if c.ClientEmail == "" || !isKey(c.PrivateKey) {
			return nil, errors.New("the credentials file has no client_email or no private key that can be read; download it again")
		}
		account := jwt.Config{
			Email: c.ClientEmail, PrivateKey: []byte(c.PrivateKey), PrivateKeyID: c.PrivateKeyID,
			Scopes: []string{cloudScope}, TokenURL: c.TokenURL,
		}
		return func(ctx context.Context) (*oauth2.Token, error) { return account.TokenSource(ctx).Token() }, nil
	case "authorized_user":
		if c.ClientID == "" || c.RefreshToken == "" {
			return nil, errors.New("the credentials file has no client_id or no refresh_token; run gcloud auth application-default login")
		}
		user := oauth2.Config{
			ClientID: c.ClientID, ClientSecret: c.ClientSecret, Scopes: []string{cloudScope},
			Endpoint: oauth2.Endpoint{TokenURL: c.TokenURL, AuthStyle: oauth2.AuthStyleInParams},
		}
		return func(ctx context.Context) (*oauth2.Token, error) {
			return user.TokenSource(ctx, &oauth2.Token{RefreshToken: c.RefreshToken}).Token()
		}, nil
	}
	return nil, fmt.Errorf("credentials of type %.60q are not taken, since they make perstack read files and call addresses that they name; use those of a service account, or run gcloud auth application-default login", c.Type)
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
	if plainWord(words.Error) {
		text += " " + words.Error
	}
	if known := knownWords(words.Description); known != "" {
		text += " (" + known + ")"
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

// plainWord reports whether a word of the server's is one of the standard's: no secret has
// that form.
func plainWord(word string) bool {
	return word != "" && len(word) <= 40 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_") == ""
}

// knownWords returns a description if it is one that Google gives. What else a server
// writes may quote what it was sent.
func knownWords(description string) string {
	for _, known := range []string{
		"Invalid JWT Signature.", "Token has been expired or revoked.", "Bad Request",
		"Invalid grant: account not found", "Account has been deleted",
	} {
		if description == known {
			return known
		}
	}
	return ""
}

// MetadataServer is what machines of Google Cloud ask for tokens.
const MetadataServer = "http://metadata.google.internal"

const metadataWait = 10 * time.Second // outside Google Cloud there is no answer

// MetadataTokens returns what makes tokens on a machine of Google Cloud: its metadata
// server gives them to every process there. base is another address of it; "" is the usual.
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
