package job

import (
	"maps"

	"github.com/perstack-go/perstack/rawjson"
)

// Headers are the values of all HTTP headers of a Spec, and what its provider is sent
// beside the conversation. They can hold keys, so they are no part of its JSON.
type Headers struct {
	Provider map[string]string            `json:"provider,omitzero"`
	Body     map[string][]byte            `json:"body,omitzero"`   // extraBody: JSON values by name
	Skills   map[string]map[string]string `json:"skills,omitzero"` // by Expert and skill, then by name
}

// Headers returns the values of all headers.
func (s *Spec) Headers() Headers {
	h := Headers{Provider: maps.Clone(s.Setting.Headers), Skills: make(map[string]map[string]string)}
	if len(s.Setting.ExtraBody) > 0 {
		h.Body = make(map[string][]byte, len(s.Setting.ExtraBody))
	}
	for name, value := range s.Setting.ExtraBody {
		h.Body[name] = value
	}
	for _, e := range s.Experts {
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
	s.Setting.Headers = h.Provider
	s.Setting.ExtraBody = nil
	for name, value := range h.Body {
		if s.Setting.ExtraBody == nil {
			s.Setting.ExtraBody = make(map[string]rawjson.Value, len(h.Body))
		}
		s.Setting.ExtraBody[name] = value
	}
	for _, e := range s.Experts {
		for _, k := range e.Skills {
			for i, header := range k.Headers {
				k.Headers[i].Value = h.Skills[e.Key+" "+k.Name][header.Name]
			}
		}
	}
}
