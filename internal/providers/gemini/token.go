package gemini

import (
	"cmp"
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/event"
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

	// ReadFile reads a file that federated credentials name, and Getenv a variable of the user;
	// nil for none.
	ReadFile func(path string, limit int64) ([]byte, error)
	Getenv   func(name string) string

	key       *rsa.PrivateKey // what PrivateKey holds
	federated *federated      // nil for credentials that are asked with directly
}

// ReadCredentials reads the file of a service account, of a user who logged in with gcloud, or of
// federated credentials. No error shows a secret.
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
		if c.key = readKey(c.PrivateKey); c.key == nil || c.ClientEmail == "" {
			return nil, errors.New("the credentials file has no client_email or no private key that can be read; download it again")
		}
	case "authorized_user":
		if c.ClientID == "" || c.RefreshToken == "" {
			return nil, errors.New("the credentials file has no client_id or no refresh_token; run gcloud auth application-default login")
		}
	case typeExternal, typeExternalUser, typeImpersonated:
		if err := c.readFederated(data); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("credentials of type %.60q are not known; use those of a service account, or run gcloud auth application-default login", c.Type)
	}
	return &c, nil
}

// readKey reads a private key; it is nil if it cannot be read. It is called once: checking a
// key costs a good part of what signing with it does.
func readKey(text string) *rsa.PrivateKey {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil
	}
	if parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
		key, _ := parsed.(*rsa.PrivateKey)
		return key
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		return nil
	}
	return key
}

// Tokens returns what makes tokens. One is asked for through hc, and used until it is about
// to expire. No error shows a secret.
func (c *Credentials) Tokens(hc *http.Client) func(context.Context) (string, error) {
	client := wire.Staying(hc)
	return keep(func(ctx context.Context) (t token, err error) {
		if c.IsFederated() {
			return c.exchange(ctx, client)
		}
		grant, err := c.grant(time.Now())
		if err != nil {
			return t, err
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.TokenURL, strings.NewReader(grant.Encode()))
		if err != nil {
			return t, unreached(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		status, _, body, err := exchange(client, request)
		switch {
		case err != nil && ctx.Err() != nil:
			return t, context.Cause(ctx)
		case err != nil:
			return t, unreached(err)
		case status/100 != 2:
			return t, refused(status, body)
		case wire.Decode(body, &t) != nil:
			return t, passing(gaveNone)
		}
		return t, nil
	})
}

// grant is the form that asks for a token.
func (c *Credentials) grant(now time.Time) (url.Values, error) {
	if c.key == nil {
		form := url.Values{"grant_type": {"refresh_token"}, "client_id": {c.ClientID}, "refresh_token": {c.RefreshToken}}
		if c.ClientSecret != "" {
			form.Set("client_secret", c.ClientSecret)
		}
		return form, nil
	}
	assertion, err := c.assertion(now)
	if err != nil {
		return nil, errors.New("no token: the private key of the credentials file cannot sign; download it again")
	}
	return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}, nil
}

// What an assertion says about time. The clock of a machine may be ahead of Google's, which
// refuses one from the future, or one that lasts for more than an hour.
const (
	clockAhead     = 10 * time.Second
	assertionLasts = time.Hour
)

// assertion is what a service account says about itself, signed with its key: a JWT of RFC 7523.
func (c *Credentials) assertion(now time.Time) (string, error) {
	head := `{"alg":"RS256","typ":"JWT"`
	if c.PrivateKeyID != "" {
		head += `,"kid":` + string(wire.Quote(c.PrivateKeyID))
	}
	now = now.Add(-clockAhead)
	claims := fmt.Sprintf(`{"iss":%s,"scope":%q,"aud":%s,"iat":%d,"exp":%d}`,
		wire.Quote(c.ClientEmail), cloudScope, wire.Quote(c.TokenURL), now.Unix(), now.Add(assertionLasts).Unix())
	base64url := base64.RawURLEncoding
	text := base64url.EncodeToString([]byte(head+"}")) + "." + base64url.EncodeToString([]byte(claims))
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, c.key, crypto.SHA256, sum[:])
	return text + "." + base64url.EncodeToString(signature), err
}

// exchange sends a request and reads its answer, as much of it as a token may have.
func exchange(client *http.Client, request *http.Request) (status int, header http.Header, body []byte, err error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, maxToken))
	return response.StatusCode, response.Header, body, err
}

// unreached says that the token server gave no answer.
func unreached(err error) error {
	hint, final := wire.Unreachable(err)
	if hint != "" {
		hint = "; " + hint
	}
	return &model.Error{Name: apiCallError, Message: vertex + ": no token: the token server cannot be reached" + hint, Retryable: !final}
}

// refused says why the token server gave no token, in words that show neither what was sent
// nor what came back.
func refused(status int, body []byte) error {
	var words struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}
	_ = wire.Decode(body, &words) // it may be any page
	text := fmt.Sprintf("no token: the token server answered %d", status)
	// A word of the standard's: no secret has that form.
	if word := words.Error; word != "" && len(word) <= 40 && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz_") == "" {
		text += " " + word
	}
	if slices.Contains(knownWords, words.Description) {
		text += " (" + words.Description + ")"
	}
	passes := isBusy(status)
	if !passes {
		text += "; check the credentials file, or log in again"
	}
	return &model.Error{Name: apiCallError, Message: vertex + ": " + text, StatusCode: status, Retryable: passes}
}

func isBusy(status int) bool { return status == http.StatusTooManyRequests || status >= 500 }

const apiCallError = event.ProviderFailure

// passing is a failure that may be gone at the next try.
func passing(text string) error {
	return &model.Error{Name: apiCallError, Message: vertex + ": " + text, Retryable: true}
}

const gaveNone = "no token: the token server gave something else"

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
	return keep(func(ctx context.Context) (t token, err error) {
		ctx, cancel := context.WithTimeout(ctx, metadataWait)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return t, errNoMetadata
		}
		request.Header.Set("Metadata-Flavor", "Google")
		status, header, body, err := exchange(client, request)
		// The header proves that it is the server, and not another one of the same name.
		switch {
		case header.Get("Metadata-Flavor") != "Google":
			return t, errNoMetadata
		case err != nil, isBusy(status):
			return t, passing("no token: the metadata server is busy")
		case status != http.StatusOK:
			return t, fmt.Errorf("no token: the metadata server answered %d; check the service account of this machine", status)
		case wire.Decode(body, &t) != nil:
			return t, errNoMetadata
		}
		return t, nil
	})
}

var errNoMetadata = errors.New("there are no credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, and no machine of Google Cloud gives a token; " +
	"set it to a credentials file, or run gcloud auth application-default login")

// A token is what a server gives.
type token struct {
	Text    string     `json:"access_token"`
	Seconds wire.Count `json:"expires_in"` // that it lasts
}

// keep returns what gives the same token as long as it lasts. A thousand Runs may need one
// at once; one of them asks the server.
func keep(ask func(context.Context) (token, error)) func(context.Context) (string, error) {
	lock := make(chan struct{}, 1)
	var kept string
	var ends time.Time
	return func(ctx context.Context) (string, error) {
		select {
		case lock <- struct{}{}:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		defer func() { <-lock }()
		if time.Until(ends) > earlier {
			return kept, nil
		}
		given, err := ask(ctx)
		switch {
		case err != nil:
			return "", err
		case !isToken(given.Text):
			return "", passing(gaveNone)
		}
		kept, ends = given.Text, time.Now().Add(time.Duration(given.Seconds)*time.Second)
		return kept, nil
	}
}

// isToken reports whether a token can be part of a header.
func isToken(s string) bool {
	return s != "" && len(s) <= maxToken && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
