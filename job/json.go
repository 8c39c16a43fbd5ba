package job

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/rawjson"
)

// In JSON, durations are whole milliseconds, as in perstack.toml. None stays -1.
var (
	durations = json.JoinOptions(
		json.Deterministic(true),
		json.WithMarshalers(json.MarshalToFunc(func(out *jsontext.Encoder, d time.Duration) error {
			if d != None {
				d /= time.Millisecond
			}
			return out.WriteToken(jsontext.Int(int64(d)))
		})),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(func(in *jsontext.Decoder, d *time.Duration) error {
			var n int64
			if err := json.UnmarshalDecode(in, &n); err != nil {
				return err
			}
			if *d = None; n != None {
				*d = time.Duration(n) * time.Millisecond
			}
			return nil
		}), json.UnmarshalFromFunc(olderLevel))),
	)
	_ json.Marshaler   = Spec{}
	_ json.Unmarshaler = (*Spec)(nil)
)

// olderLevel reads the sandbox of a job from before there were levels: true, or nothing.
func olderLevel(in *jsontext.Decoder, level *expert.SandboxLevel) error {
	switch in.PeekKind() {
	case 't':
		*level = expert.SandboxLandlock
	case 'f':
		*level = ""
	default:
		return errors.ErrUnsupported
	}
	return in.SkipValue()
}

// MarshalJSON writes the Spec in one form: equal Specs have equal text.
func (s Spec) MarshalJSON() ([]byte, error) {
	type plain Spec
	return json.Marshal(plain(s), durations)
}

// UnmarshalJSON reads what MarshalJSON wrote. Unknown members are ignored: a later version
// of perstack can have recorded them.
func (s *Spec) UnmarshalJSON(text []byte) error {
	type plain Spec
	return json.Unmarshal(text, (*plain)(s), durations)
}

// Recorded returns the form of a Spec that belongs in a journal. Job, Run and input are
// recorded beside it. Which files are out of reach is decided again for each run. Of the
// lockfile a digest is enough to tell whether it changed.
func (s Spec) Recorded() ([]byte, error) {
	s.JobID, s.RunID, s.Input = "", "", Input{}
	s.Workspace.Hidden, s.Workspace.ReadOnly = nil, nil
	s.Verbose = false
	if s.Lock != "" {
		sum := sha256.Sum256([]byte(s.Lock))
		s.Lock = "sha256:" + hex.EncodeToString(sum[:])
	}
	return s.MarshalJSON()
}

// ParseRecorded reads the Spec of a job from its journal.
func ParseRecorded(text []byte) (Spec, error) {
	var s Spec
	if len(text) == 0 {
		return Spec{}, errors.New("the job has recorded no Spec, so what it ran is not known; start a new job")
	}
	if err := s.UnmarshalJSON(text); err != nil {
		return Spec{}, fmt.Errorf("the recorded Spec of the job cannot be read: %w", err)
	}
	return s, nil
}

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
