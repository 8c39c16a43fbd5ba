package skillset

import (
	"maps"

	"github.com/perstack-go/perstack/expert"
)

// wayOut are the variables by which programs find the proxy that a skill may use; none
// when there is no proxy. Programs disagree about the letter case of the names. What is on
// this machine is reached without the proxy, which would refuse it.
//
// The address holds the token of the gate, and every skill has a gate of its own: by the
// token of one, no other skill's hosts can be reached.
func (s *Surroundings) wayOut(skill string) map[string]string {
	if s.Gate == nil {
		return nil
	}
	gate := s.Gate(skill)
	if gate == "" {
		return nil
	}
	const here = "localhost,127.0.0.1"
	return map[string]string{
		"HTTPS_PROXY": gate, "https_proxy": gate,
		"HTTP_PROXY": gate, "http_proxy": gate,
		"ALL_PROXY": gate, "all_proxy": gate,
		"NO_PROXY": here, "no_proxy": here,
	}
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
