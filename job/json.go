package job

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
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
		json.WithUnmarshalers(json.UnmarshalFromFunc(func(in *jsontext.Decoder, d *time.Duration) error {
			var n int64
			if err := json.UnmarshalDecode(in, &n); err != nil {
				return err
			}
			if *d = None; n != None {
				*d = time.Duration(n) * time.Millisecond
			}
			return nil
		})),
	)
	_ json.Marshaler   = Spec{}
	_ json.Unmarshaler = (*Spec)(nil)
)

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
