package job

import (
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/rawjson"
)

// Headers are the values of all HTTP headers of a Spec, and what its providers are sent
// beside the conversation. They can hold keys, so they are no part of its JSON.
type Headers struct {
	Provider ProviderHeaders              `json:"provider,omitzero"`
	Experts  map[string]ProviderHeaders   `json:"experts,omitzero"` // of the providers of single Experts, by Expert
	Skills   map[string]map[string]string `json:"skills,omitzero"`  // by Expert and skill, then by name
}

// ProviderHeaders are the headers and the extraBody of one provider.
type ProviderHeaders struct {
	Headers map[string]string        `json:"headers,omitzero"`
	Body    map[string]rawjson.Value `json:"body,omitzero"`
}

// Headers returns the values of all headers. It shares maps with the Spec.
func (s *Spec) Headers() Headers {
	h := Headers{
		Provider: ProviderHeaders{s.Setting.Headers, s.Setting.ExtraBody},
		Experts:  make(map[string]ProviderHeaders), Skills: make(map[string]map[string]string),
	}
	for _, e := range s.Experts {
		if e.Provider != nil {
			h.Experts[e.Key] = ProviderHeaders{e.Provider.Setting.Headers, e.Provider.Setting.ExtraBody}
		}
		for _, k := range e.Skills {
			for _, header := range k.Headers {
				id := e.Key + " " + k.Name
				if h.Skills[id] == nil {
					h.Skills[id] = make(map[string]string)
				}
				h.Skills[id][header.Name] = header.Value
			}
		}
	}
	return h
}

// SetHeaders puts the values back into a Spec that was read from JSON.
func (s *Spec) SetHeaders(h Headers) {
	h.Provider.set(&s.Setting)
	for _, e := range s.Experts {
		if e.Provider != nil {
			h.Experts[e.Key].set(&e.Provider.Setting)
		}
		for _, k := range e.Skills {
			for i, header := range k.Headers {
				k.Headers[i].Value = h.Skills[e.Key+" "+k.Name][header.Name]
			}
		}
	}
}

func (h ProviderHeaders) set(s *expert.Setting) { s.Headers, s.ExtraBody = h.Headers, h.Body }
