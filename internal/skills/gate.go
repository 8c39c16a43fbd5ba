package skills

import (
	"errors"
	"maps"
	"net/url"
	"strconv"

	"github.com/perstack-go/perstack/expert"
)

// wayOut are the variables by which programs find the proxy that a skill may use; none
// when there is no proxy. Programs disagree about the letter case of the names. What is on
// this machine is reached without the proxy, which would refuse it.
//
// The address holds the token of the gate, and every skill has a gate of its own: by the
// token of one, no other skill's hosts can be reached.
//
// Node takes no notice of a proxy unless it is told to. Whom to trust is said beside it:
// what the user's own variables name may not be there.
func (s *Surroundings) wayOut(skill string) map[string]string {
	gate := s.gate(skill)
	if gate == "" && s.Roots == "" {
		return nil
	}
	out := make(map[string]string)
	if s.Roots != "" {
		for _, name := range []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
			out[name] = s.Roots
		}
	}
	if gate == "" {
		return out
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		out[name] = gate
	}
	const here = "localhost,127.0.0.1"
	out["NO_PROXY"], out["no_proxy"] = here, here
	out["NODE_USE_ENV_PROXY"] = "1"
	return out
}

func (s *Surroundings) gate(skill string) string {
	if s.Gate == nil {
		return ""
	}
	return s.Gate(skill)
}

// gatePort is the port of a skill's gate; 0 if it has none. The error does not repeat the
// address, which has a token in it.
func (s *Surroundings) gatePort(skill string) (uint16, error) {
	gate := s.gate(skill)
	if gate == "" {
		return 0, nil
	}
	u, err := url.Parse(gate)
	if err != nil {
		return 0, errors.New("the address of a gate cannot be read")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 {
		return 0, errors.New("the address of a gate has no port")
	}
	return uint16(port), nil
}

// decided are the variables of commands that no caller of a tool can change: those that
// the user hands over, and the way out, which none of them leads elsewhere.
func (s *Surroundings) decided() map[string]string {
	out := s.wayOut(expert.BaseSkill)
	if len(s.Handed) == 0 {
		return out
	}
	all := maps.Clone(s.Handed)
	maps.Copy(all, out)
	return all
}
