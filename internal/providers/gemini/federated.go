package gemini

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	library "golang.org/x/oauth2/google"
	"golang.org/x/oauth2/google/externalaccount"

	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// This file has the credentials that are exchanged for a token in several steps: those of another
// identity provider, and those that act for a service account. Google's library does it, when the
// first token is needed. What the file names is checked before: the library does not.

// The types of these credentials.
const (
	typeExternal     = string(library.ExternalAccount)
	typeExternalUser = string(library.ExternalAccountAuthorizedUser)
	typeImpersonated = string(library.ImpersonatedServiceAccount)
)

// federated is what a file of these credentials says.
type federated struct {
	Audience         string `json:"audience"`
	SubjectTokenType string `json:"subject_token_type"`
	TokenURL         string `json:"token_url"`
	TokenInfoURL     string `json:"token_info_url"`
	RevokeURL        string `json:"revoke_url"`
	ImpersonationURL string `json:"service_account_impersonation_url"`
	Impersonation    struct {
		Seconds int `json:"token_lifetime_seconds"`
	} `json:"service_account_impersonation"`
	QuotaProject     string        `json:"quota_project_id"`
	WorkforceProject string        `json:"workforce_pool_user_project"`
	Universe         string        `json:"universe_domain"`
	Source           subjectSource `json:"credential_source"`
	// SourceCredentials are those of the one who acts for the service account.
	SourceCredentials rawjson.Value `json:"source_credentials"`

	data []byte       // the whole file
	from *Credentials // what SourceCredentials are
}

// A subjectSource says where the token of the other identity provider comes from.
type subjectSource struct {
	File        string        `json:"file"`
	URL         string        `json:"url"`
	Environment string        `json:"environment_id"` // "aws1" for Amazon's
	Executable  rawjson.Value `json:"executable"`
	Certificate rawjson.Value `json:"certificate"`
	Format      struct {
		Type  string `json:"type"`
		Field string `json:"subject_token_field_name"`
	} `json:"format"`
}

// readFederated checks the credentials of c, which data are the file of.
func (c *Credentials) readFederated(data []byte) error {
	f := &federated{data: data}
	if err := wire.Decode(data, f); err != nil {
		return errors.New("the credentials file cannot be read: a member has another type than Google gives it") // err may quote it
	}
	c.federated = f
	c.TokenURL = cmp.Or(f.TokenURL, "https://sts.googleapis.com/v1/token")
	for name, address := range map[string]string{
		"token_url": f.TokenURL, "token_info_url": f.TokenInfoURL, "revoke_url": f.RevokeURL, "service_account_impersonation_url": f.ImpersonationURL,
	} {
		if address != "" && !isExchange(address) {
			return fmt.Errorf("the %s of the credentials file is not an https address of Google's; the file could send what it reads elsewhere", name)
		}
	}
	source := f.Source
	switch {
	case len(source.Executable) > 0, len(source.Certificate) > 0:
		return errors.New("credentials that start a program or use a certificate for the token are not taken; use a source of the type file or url")
	case c.Type == typeImpersonated:
		return c.readSource()
	case c.Type == typeExternalUser && (c.ClientID == "" || c.RefreshToken == ""):
		return errors.New("the credentials file has no client_id or no refresh_token; run gcloud auth application-default login")
	case c.Type == typeExternalUser:
		return nil
	case f.Audience == "" || f.SubjectTokenType == "":
		return errors.New("the credentials file has no audience or no subject_token_type; download it again")
	case source.File == "" && source.URL == "" && source.Environment == "":
		return errors.New("the credentials file has no credential_source that can be used; download it again")
	case source.URL != "" && !isHTTP(source.URL):
		return errors.New("the url of credential_source is not a web address")
	}
	return nil
}

// readSource checks the credentials of the one who acts for a service account.
func (c *Credentials) readSource() error {
	f := c.federated
	if f.ImpersonationURL == "" || len(f.SourceCredentials) == 0 {
		return errors.New("the credentials file has no service_account_impersonation_url or no source_credentials; create it again")
	}
	from, err := ReadCredentials(f.SourceCredentials)
	switch {
	case err != nil:
		return fmt.Errorf("source_credentials: %w", err)
	case from.Type == typeImpersonated:
		return errors.New("source_credentials act for another account themselves; use credentials of a user or of a service account")
	case !isExchange(from.TokenURL):
		return errors.New("source_credentials: the token_uri is not an https address of Google's")
	}
	f.from, c.TokenURL = from, from.TokenURL
	return nil
}

// isExchange reports whether credentials can be sent to an address: to Google, or to this machine.
func isExchange(address string) bool {
	if (&wire.Client{Provider: vertex, BaseURL: address}).Check() != nil {
		return false
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return u.Scheme == "https" && strings.HasSuffix(host, ".googleapis.com") || netaddr.HostReach(host) == netaddr.Loopback
}

func isHTTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// IsFederated reports whether the credentials name files and addresses that are read for a token.
func (c *Credentials) IsFederated() bool { return c.federated != nil }

// Addresses are the addresses that are asked for a token.
func (c *Credentials) Addresses() []string {
	all := []string{c.TokenURL}
	if f := c.federated; f != nil {
		all = append(all, f.ImpersonationURL, f.Source.URL)
		if f.from != nil {
			all = append(all, f.from.Addresses()...)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(a string) bool { return a == "" })
}

// Files are the files that are read for a token, each time one is asked for.
func (c *Credentials) Files() []string {
	f := c.federated
	switch {
	case f != nil && f.from != nil:
		return f.from.Files()
	case f != nil && f.Source.File != "":
		return []string{f.Source.File}
	}
	return nil
}

// Secrets returns what is secret in the file, by name.
func (c *Credentials) Secrets() map[string]string {
	all := map[string]string{}
	if c.federated != nil && c.federated.from != nil {
		all = c.federated.from.Secrets()
	}
	for name, value := range map[string]string{
		"private_key": c.PrivateKey, "private_key_id": c.PrivateKeyID, "refresh_token": c.RefreshToken, "client_secret": c.ClientSecret,
	} {
		if value != "" {
			all[name] = value
		}
	}
	return all
}

// exchange asks for a token in as many steps as it takes.
func (c *Credentials) exchange(ctx context.Context, client *http.Client) (token, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	source, err := c.librarySource(ctx)
	if err != nil {
		return token{}, errors.New("no token: Google's library does not take the credentials file; create it again")
	}
	given, err := source.Token()
	if err != nil {
		return token{}, exchangeError(ctx, err)
	}
	seconds := int64(time.Hour / time.Second)
	if !given.Expiry.IsZero() {
		seconds = int64(time.Until(given.Expiry) / time.Second)
	}
	return token{Text: given.AccessToken, Seconds: wire.Count(seconds)}, nil
}

// librarySource hands the credentials to the library. A token of another identity provider that
// lies in a file or in variables is read here: as a bounded regular file, and from the environment
// of the user.
func (c *Credentials) librarySource(ctx context.Context) (oauth2.TokenSource, error) {
	f := c.federated
	own := externalaccount.Config{
		Audience: f.Audience, SubjectTokenType: f.SubjectTokenType, TokenURL: c.TokenURL, TokenInfoURL: f.TokenInfoURL,
		ServiceAccountImpersonationURL: f.ImpersonationURL, ServiceAccountImpersonationLifetimeSeconds: f.Impersonation.Seconds,
		ClientID: c.ClientID, ClientSecret: c.ClientSecret, QuotaProjectID: f.QuotaProject, WorkforcePoolUserProject: f.WorkforceProject,
		UniverseDomain: f.Universe, Scopes: []string{cloudScope},
	}
	keys := awsKeys{c.Getenv}
	switch {
	case c.Type == typeExternal && f.Source.File != "":
		own.SubjectTokenSupplier = subjectFile{f.Source, c.ReadFile}
		return externalaccount.NewTokenSource(ctx, own)
	case c.Type == typeExternal && f.Source.Environment != "" && keys.set():
		own.AwsSecurityCredentialsSupplier = keys
		return externalaccount.NewTokenSource(ctx, own)
	}
	all, err := library.CredentialsFromJSONWithType(ctx, f.data, library.CredentialsType(c.Type), cloudScope)
	if err != nil {
		return nil, err
	}
	return all.TokenSource, nil
}

// A subjectFile is a token of another identity provider in a file.
type subjectFile struct {
	source subjectSource
	read   func(path string, limit int64) ([]byte, error)
}

// errSubject is returned for a file without a token. It does not show what the file has.
var errSubject = errors.New("the file that credential_source names has no token in the form that it says")

// SubjectToken implements [externalaccount.SubjectTokenSupplier].
func (s subjectFile) SubjectToken(context.Context, externalaccount.SupplierOptions) (string, error) {
	if s.read == nil {
		return "", errSubject
	}
	data, err := s.read(s.source.File, maxToken)
	if err != nil {
		return "", errSubject
	}
	if s.source.Format.Type != "json" {
		return strings.TrimSpace(string(data)), nil
	}
	var members map[string]rawjson.Value
	var text string
	if wire.Decode(data, &members) != nil || wire.Decode(members[s.source.Format.Field], &text) != nil || text == "" {
		return "", errSubject
	}
	return text, nil
}

// awsKeys are those of Amazon's cloud in the environment of the user.
type awsKeys struct{ getenv func(string) string }

func (k awsKeys) get(names ...string) string {
	for _, name := range names {
		if k.getenv == nil {
			return ""
		}
		if value := k.getenv(name); value != "" {
			return value
		}
	}
	return ""
}

func (k awsKeys) set() bool {
	return k.get("AWS_ACCESS_KEY_ID") != "" && k.get("AWS_SECRET_ACCESS_KEY") != "" && k.get("AWS_REGION", "AWS_DEFAULT_REGION") != ""
}

// AwsRegion implements [externalaccount.AwsSecurityCredentialsSupplier].
func (k awsKeys) AwsRegion(context.Context, externalaccount.SupplierOptions) (string, error) {
	return k.get("AWS_REGION", "AWS_DEFAULT_REGION"), nil
}

// AwsSecurityCredentials implements [externalaccount.AwsSecurityCredentialsSupplier].
func (k awsKeys) AwsSecurityCredentials(context.Context, externalaccount.SupplierOptions) (*externalaccount.AwsSecurityCredentials, error) {
	return &externalaccount.AwsSecurityCredentials{
		AccessKeyID: k.get("AWS_ACCESS_KEY_ID"), SecretAccessKey: k.get("AWS_SECRET_ACCESS_KEY"), SessionToken: k.get("AWS_SESSION_TOKEN"),
	}, nil
}

var statusPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`status code (\d{3})`) })

// exchangeError says why there is no token, in words that show neither what was sent nor what came
// back. The library has both in its errors.
func exchangeError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, errSubject) {
		return fmt.Errorf("no token: %w", errSubject)
	}
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok && answer.Response != nil {
		return refused(answer.Response.StatusCode, answer.Body)
	}
	if unreachable, ok := errors.AsType[*url.Error](err); ok {
		return unreached(unreachable.Err)
	}
	if found := statusPattern().FindStringSubmatch(err.Error()); found != nil {
		status, _ := strconv.Atoi(found[1]) // three digits
		return refused(status, nil)
	}
	return passing(gaveNone)
}
