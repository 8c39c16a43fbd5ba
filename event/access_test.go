package event

import "testing"

func TestAccessInWords(t *testing.T) {
	for _, tt := range []struct {
		access   ProxyAccess
		who, why string
	}{
		{ProxyAccess{Action: "allowed", Gate: "engine"}, "the engine", ""},
		{ProxyAccess{Action: "blocked", Gate: "engine", Reason: "domain"}, "the engine", "it is no host of the provider or of a remote skill"},
		{ProxyAccess{Action: "blocked", Gate: "writer " + BaseSkill, Reason: "domain"}, "commands of writer", "it is not in allowedDomains"},
		{ProxyAccess{Action: "blocked", Gate: "@a/b web search", Reason: "port"}, "skill web search of @a/b", "only port 443 passes"},
		{ProxyAccess{Action: "blocked", Gate: "strange", Reason: "weather"}, "strange", "weather"},
		{ProxyAccess{}, "", ""},
	} {
		if who, why := tt.access.Who(), tt.access.Why(); who != tt.who || why != tt.why {
			t.Errorf("%+v: %q, %q", tt.access, who, why)
		}
	}
}
