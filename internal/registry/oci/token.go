package oci

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/netaddr"
)

// maxToken bounds the answer of a server that gives tokens.
const maxToken = 64 << 10

// errNoLogin says that a server wants a name and a password.
var errNoLogin = errors.New("the registry asks for a login, and there is none")

// A permit is what a header Authorization is for. One that has no repository is for all of them.
type permit struct {
	origin     string
	repository string
	write      bool
}

// authorization returns the header that has worked before; empty if there is none.
func (s *Source) authorization(p permit) string {
	s.lock.Lock()
	defer s.lock.Unlock()
	if header, ok := s.authorizations[p]; ok {
		return header
	}
	return s.authorizations[permit{origin: p.origin}]
}

// remember keeps a header that works.
func (s *Source) remember(p permit, header string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if isBasic(header) { // it is the login itself
		delete(s.authorizations, p)
		p = permit{origin: p.origin}
	}
	s.authorizations[p] = header
}

func isBasic(header string) bool { return strings.HasPrefix(header, "Basic ") }

// login returns the login for an origin. It is asked for once: that can start a program.
func (s *Source) login(ctx context.Context, origin string) (Login, error) {
	if s.options.Login == nil {
		return Login{}, nil
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return Login{}, ctx.Err()
	}
	if known, ok := s.logins[origin]; ok {
		return known, nil
	}
	login, err := s.options.Login(ctx, origin)
	if err == nil {
		s.logins[origin] = login
	}
	return login, err
}

func (l Login) header() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(l.Username+":"+l.Password))
}

// authorize does what a server asks for, and returns the header for the same request. It is empty if the server
// asks for nothing that is known here. Tokens are preferred: they are for one repository.
func (r *repository) authorize(ctx context.Context, challenges []challenge, write bool) (string, error) {
	for _, c := range challenges {
		if c.scheme == "bearer" && c.parameters["realm"] != "" {
			token, err := r.token(ctx, c, write)
			return "Bearer " + token, err
		}
	}
	if !slices.ContainsFunc(challenges, func(c challenge) bool { return c.scheme == "basic" }) {
		return "", nil
	}
	login, err := r.source.login(ctx, r.guard.origin)
	if err == nil && login == (Login{}) {
		err = errNoLogin
	}
	return login.header(), err
}

// token asks the server that a challenge names for a token.
func (r *repository) token(ctx context.Context, c challenge, write bool) (string, error) {
	to, err := url.Parse(c.parameters["realm"])
	if err != nil || to.Host == "" {
		return "", &answerError{"the registry names no address of a server for tokens"}
	}
	query := to.Query()
	if service := c.parameters["service"]; service != "" {
		query.Set("service", service)
	}
	scopes := strings.Fields(c.parameters["scope"])
	if len(scopes) == 0 {
		scopes = []string{"repository:" + r.name + ":pull"}
		if write {
			scopes[0] += ",push"
		}
	}
	for _, scope := range scopes {
		query.Add("scope", scope)
	}
	to.RawQuery = query.Encode()
	asked := request{method: http.MethodGet, to: to}
	// The login is for the registry. Its token server elsewhere is asked without one; see [transport.RoundTrip].
	if netaddr.Origin(to) == r.guard.origin {
		login, err := r.source.login(ctx, r.guard.origin)
		if err != nil {
			return "", err
		}
		if login != (Login{}) {
			asked.authorization = login.header()
		}
	}
	response, err := r.send(ctx, asked)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		refused := readRefusal(response)
		refused.token = true
		return "", refused
	}
	return readToken(response.Body)
}

// readToken reads the answer of a server that gives tokens. Errors do not show it.
func readToken(in io.Reader) (string, error) {
	text, err := readMost(in, maxToken)
	if err != nil {
		return "", err
	}
	var answer struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return "", &answerError{"the answer of the server that gives tokens cannot be read"}
	}
	token := cmp.Or(answer.Token, answer.AccessToken)
	if token == "" || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", &answerError{"the server that gives tokens has given none that can be used"}
	}
	return token, nil
}
