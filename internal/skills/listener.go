package skills

import (
	"errors"
	"maps"
	"net/url"
	"strconv"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
)

// wayOut are the variables by which programs find the proxy that a skill may use; none
// when there is no proxy. Programs disagree about the letter case of the names. What is on
// this machine is reached without the proxy, which would refuse it.
//
// The address holds the token of the listener, and every skill has a listener of its own: by the
// token of one, no other skill's hosts can be reached.
//
// Node takes no notice of a proxy unless it is told to. Whom to trust is said beside it:
// what the user's own variables name may not be there.
func (s *set) wayOut(skill string) map[string]string {
	listener := s.listener(skill)
	authorities := ""
	if c := s.site.Parts.Container; c != nil {
		authorities = c.Authorities
	}
	if listener == "" && authorities == "" {
		return nil
	}
	out := make(map[string]string)
	if authorities != "" {
		for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
			out[name] = authorities
		}
	}
	if listener == "" {
		return out
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		out[name] = listener
	}
	const here = "localhost,127.0.0.1"
	out["NO_PROXY"], out["no_proxy"] = here, here
	out["NODE_USE_ENV_PROXY"] = "1"
	return out
}

// proxy is that of the program itself, by which remote skills are reached; nil for none.
// The error does not repeat the address, which has a token in it.
func (site *Site) proxy() (*url.URL, error) {
	if site.Parts.Container == nil || site.Parts.Container.Proxy == "" {
		return nil, nil
	}
	u, err := url.Parse(site.Parts.Container.Proxy)
	if err != nil {
		return nil, errors.New("the address of the proxy cannot be read")
	}
	return u, nil
}

// listener is the address of the proxy by which a skill reaches out, with the token to show
// there; empty for no proxy.
func (s *set) listener(skill string) string {
	if s.house != nil && s.house.listeners != nil {
		if address, ok := s.house.listeners.addresses[skill]; ok {
			return address
		}
	}
	if c := s.site.Parts.Container; c != nil {
		return c.Proxies[engine.ProxyName(s.expert.Key, skill)]
	}
	return ""
}

// listenerPort is the port of a skill's listener; 0 if it has none. The error does not repeat the
// address, which has a token in it.
func (s *set) listenerPort(skill string) (uint16, error) {
	listener := s.listener(skill)
	if listener == "" {
		return 0, nil
	}
	u, err := url.Parse(listener)
	if err != nil {
		return 0, errors.New("the address of a listener cannot be read")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return 0, errors.New("the address of a listener has no port")
	}
	return uint16(port), nil
}

// decided are the variables of commands that no caller of a tool can change: those that
// the user hands over, and the way out, which none of them leads elsewhere.
func (s *set) decided() map[string]string {
	out := s.wayOut(expert.BaseSkill)
	c := s.site.Parts.Container
	if c == nil || len(c.Env) == 0 {
		return out
	}
	all := maps.Clone(c.Env)
	maps.Copy(all, out)
	return all
}
