package skills

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
)

// proxyVariables returns the variables that make programs of a skill use its proxy and accept
// its certificates. Programs disagree about the letter case of the names. Node ignores a proxy
// unless it is told to use one. The proxy would refuse local addresses, so NO_PROXY names them.
// npm looks for its own updates with any command, which would be reported as a blocked host.
//
// The address contains the token of the listener. Every skill has its own listener, so the token
// of one skill does not give access to the hosts of another.
func (s *set) proxyVariables(skill string) map[string]string {
	variables := make(map[string]string)
	set := func(value string, names ...string) {
		for _, name := range names {
			variables[name] = value
		}
	}
	if c := s.site.Parts.Container; c != nil && c.Authorities != "" {
		set(c.Authorities, "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
	}
	if proxy := s.proxyURL(skill); proxy != "" {
		set(proxy, "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")
		set("localhost,127.0.0.1,::1", "NO_PROXY", "no_proxy")
		set("1", "NODE_USE_ENV_PROXY")
		set("false", "npm_config_update_notifier")
	}
	return variables
}

// commandVariables returns the variables of commands that tool calls cannot change: those that
// the user passes on, and those of the proxy.
func (s *set) commandVariables() map[string]string {
	variables := make(map[string]string)
	if c := s.site.Parts.Container; c != nil {
		maps.Copy(variables, c.Env)
	}
	maps.Copy(variables, s.proxyVariables(expert.BaseSkill))
	return variables
}

// proxyURL returns the address of a skill's listener, with its token; "" without a proxy. At level
// full no other program can reach the listener, so there is no token.
func (s *set) proxyURL(skill string) string {
	if s.sandboxes != nil {
		if b := s.sandboxes.bySkill[skill]; b != nil && b.sandboxes.full != nil {
			if b.hasListener() {
				return "http://" + policy.ProxyAddress
			}
			return ""
		}
	}
	if s.sandboxes != nil && s.sandboxes.listeners != nil {
		if address, ok := s.sandboxes.listeners.addresses[skill]; ok {
			return address
		}
	}
	if c := s.site.Parts.Container; c != nil {
		return c.Proxies[engine.ProxyName(s.expert.Key, skill)]
	}
	return ""
}

// proxyPort returns the port of a skill's listener; 0 without a proxy. The error does not repeat
// the address, which contains a token.
func (s *set) proxyPort(skill string) (uint16, error) {
	address := s.proxyURL(skill)
	if address == "" {
		return 0, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return 0, errors.New("the address of a listener cannot be read")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return 0, errors.New("the address of a listener has no port")
	}
	return uint16(port), nil
}

// remoteProxy returns the proxy through which perstack reaches remote skills; nil for none. The
// error does not repeat the address, which contains a token.
func (site *Site) remoteProxy() (*url.URL, error) {
	if site.Parts.Container == nil || site.Parts.Container.Proxy == "" {
		return nil, nil
	}
	u, err := url.Parse(site.Parts.Container.Proxy)
	if err != nil {
		return nil, errors.New("the address of the proxy cannot be read")
	}
	return u, nil
}

// listeners is a proxy in this process with a listener for each sandboxed skill of one Expert.
type listeners struct {
	addresses map[string]string // by skill, with the tokens
	end       context.CancelCauseFunc
	ended     chan struct{}
}

var errListenersClosed = errors.New("the skills have ended")

// openListeners opens a listener for each skill, which allows the hosts in its allowedDomains.
func (s *set) openListeners(skills []*expert.Skill) (*listeners, error) {
	var config egress.ProxyConfig
	for _, k := range skills {
		token := rand.Text()
		s.site.Parts.Secrets.Add("PROXY_TOKEN", token) // programs print their variables
		config.Listeners = append(config.Listeners, egress.Listener{
			Name: s.expert.Key + " " + k.Name, Address: "127.0.0.1:0", Allow: s.site.Sandboxes.hosts(k), Token: token,
		})
	}
	ctx, end := context.WithCancelCause(context.WithoutCancel(s.ctx)) // skills outlive the call that starts them
	proxy, err := egress.Listen(ctx, config, egress.ProxyOptions{Report: s.reportAccess, Ask: s.leaving()})
	if err != nil {
		end(nil)
		return nil, fmt.Errorf("open the listeners of skills: %w", err)
	}
	l := &listeners{addresses: make(map[string]string, len(skills)), end: end, ended: make(chan struct{})}
	for i, open := range proxy.Listeners() {
		address := url.URL{Scheme: "http", User: url.UserPassword(egress.TokenUser, config.Listeners[i].Token), Host: open.Address}
		l.addresses[skills[i].Name] = address.String()
	}
	go func() {
		defer close(l.ended)
		if err := proxy.Serve(ctx); !errors.Is(err, errListenersClosed) {
			s.site.Parts.Log.Error("the proxy of the skills failed: they can no longer reach the network", "error", err)
		}
	}()
	return l, nil
}

// reportAccess tells the Run what a listener decided.
func (s *set) reportAccess(line egress.Line) error {
	a := line.Access
	if a == nil {
		return nil
	}
	access := event.ProxyAccess{Action: "blocked", Domain: a.Host, Port: a.Port, Reason: a.Reason, Listener: a.Listener}
	if a.Allowed {
		access.Action = "allowed"
	}
	if !a.Allowed && s.builtIn && a.Listener == engine.ProxyName(s.expert.Key, expert.BaseSkill) {
		access.Command = s.blocked.refuse(a)
	}
	s.req.Report(access)
	return nil
}

// close closes the listeners and returns when the last decision has been reported.
func (l *listeners) close() {
	if l == nil {
		return
	}
	l.end(errListenersClosed)
	<-l.ended
}
