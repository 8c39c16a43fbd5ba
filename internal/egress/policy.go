package egress

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The limits of a policy.
const (
	MaxPolicy       = 1 << 20 // bytes of the document
	maxListeners    = 1000
	MaxConnections  = 10_000
	maxListenerName = 1024
	maxToken        = 512
	maxSilence      = 10 * 365 * 24 * 60 * 60
)

// TokenUser is the user name that belongs to the token of a listener.
const TokenUser = "perstack"

// ParseProxyConfig reads the document of perstack egress --policy. It is strict: a misspelled
// name must not silently drop a rule.
func ParseProxyConfig(document []byte) (ProxyConfig, error) {
	var config ProxyConfig
	if len(document) > MaxPolicy {
		return ProxyConfig{}, fmt.Errorf("the policy has more than %d bytes", MaxPolicy)
	}
	if err := json.Unmarshal(document, &config, json.RejectUnknownMembers(true)); err != nil {
		return ProxyConfig{}, fmt.Errorf("the policy cannot be read: %s", unreadable(err))
	}
	if _, _, err := config.compile(); err != nil {
		return ProxyConfig{}, err
	}
	return config, nil
}

// unreadable says what is wrong with the document, in its own terms. Values are not
// repeated, since one may be a token.
func unreadable(err error) string {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		where := position(semantic.JSONPointer)
		switch {
		case errors.Is(err, json.ErrUnknownName):
			return where + " is unknown"
		case semantic.JSONPointer == "":
			where = "the document"
		}
		return where + " must be " + kindOf(semantic.GoType)
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return position(syntactic.JSONPointer) + " is given twice"
		}
		return fmt.Sprintf("it is not valid JSON after %d bytes", syntactic.ByteOffset)
	}
	return "it is not valid JSON"
}

// position is a pointer into the document, cut to a printable length.
func position(at jsontext.Pointer) string {
	const most = 200
	return strconv.Quote(string(at[:min(len(at), most)]))
}

// kindOf names a type of a policy as its author does.
func kindOf(t reflect.Type) string {
	if t == nil {
		return "something else"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	case reflect.Int:
		return "a whole number"
	default:
		return "an object"
	}
}

// A compiledListener is a listener as the proxy uses it.
type compiledListener struct {
	Listener
	address netip.AddrPort
	allow   Allowlist
	secret  string // what Proxy-Authorization has to say behind "Basic "; empty for none
}

// An upstream is a proxy that the connections go through.
type upstream struct {
	address string // host:port; empty for none
	secret  string // as in compiledListener
}

func (config *ProxyConfig) compile() ([]compiledListener, upstream, error) {
	switch {
	case len(config.Listeners) == 0:
		return nil, upstream{}, errors.New("the policy has no listener")
	case len(config.Listeners) > maxListeners:
		return nil, upstream{}, fmt.Errorf("the policy has more than %d listeners", maxListeners)
	case config.MaxConnections < 0 || config.MaxConnections > MaxConnections:
		return nil, upstream{}, fmt.Errorf("maxConnections must be from 1 to %d", MaxConnections)
	case config.MaxSilence < 0 || config.MaxSilence > maxSilence:
		return nil, upstream{}, fmt.Errorf("maxSilence must be from 1 to %d seconds", maxSilence)
	}
	listeners := make([]compiledListener, len(config.Listeners))
	names := map[string]bool{}
	for i, listener := range config.Listeners {
		d, err := listener.compile()
		if err != nil {
			return nil, upstream{}, fmt.Errorf("listener %q: %w", listener.Name, err)
		}
		if names[listener.Name] {
			return nil, upstream{}, fmt.Errorf("listener %q: the name is given twice", listener.Name)
		}
		names[listener.Name] = true
		listeners[i] = d
	}
	up, err := parseUpstream(config.Upstream)
	return listeners, up, err
}

func (l Listener) compile() (compiledListener, error) {
	d := compiledListener{Listener: l}
	if l.Name == "" || len(l.Name) > maxListenerName || strings.ContainsFunc(l.Name, isControl) {
		return d, fmt.Errorf("it needs a name of at most %d characters that can be printed", maxListenerName)
	}
	var err error
	if d.address, err = netip.ParseAddrPort(l.Address); err != nil {
		return d, errors.New("it needs an address to listen at, like 127.0.0.1:3128")
	}
	if d.allow, err = ParseAllowlist(l.Allow); err != nil {
		return d, err
	}
	if len(l.Token) > maxToken || strings.ContainsFunc(l.Token, isControl) {
		return d, fmt.Errorf("its token must have at most %d characters that can be printed", maxToken)
	}
	for _, block := range l.Clients {
		if !block.IsValid() || block != block.Masked() {
			return d, fmt.Errorf("%s is not a block of addresses, like 192.0.2.0/24", block)
		}
	}
	if l.Token != "" {
		d.secret = basic(TokenUser, l.Token)
	}
	return d, nil
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// basic is the value of Proxy-Authorization after the word Basic.
func basic(user, password string) string {
	return base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
}

// CheckUpstream says what is wrong with the address of a proxy that everything is to go
// through, before one is started with it. The error does not repeat the address.
func CheckUpstream(text string) error {
	_, err := parseUpstream(text)
	return err
}

// parseUpstream reads the address of a proxy. Its errors do not repeat it, since it may
// hold a password.
func parseUpstream(text string) (upstream, error) {
	if text == "" {
		return upstream{}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Opaque != "" || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" ||
		strings.ContainsFunc(u.Hostname(), func(c rune) bool { return c <= ' ' || c > '~' }) {
		return upstream{}, errors.New("the upstream proxy is not given as http://host:port or http://user:password@host:port")
	}
	port := u.Port()
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return upstream{}, errors.New("the upstream proxy is given without a valid port; write http://host:port")
	}
	up := upstream{address: net.JoinHostPort(u.Hostname(), port)}
	if u.User != nil {
		password, _ := u.User.Password()
		if strings.Contains(u.User.Username(), ":") {
			return upstream{}, errors.New("the user name of the upstream proxy must not have a colon")
		}
		up.secret = basic(u.User.Username(), password)
	}
	return up, nil
}

// Check says what is wrong with a policy that another proxy is to enforce.
func (config ProxyConfig) Check() error {
	_, _, err := config.compile()
	return err
}
