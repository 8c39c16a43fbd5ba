package store

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A digest chain shows that no record was changed, but not who wrote them: a program that can
// write to the history can also compute digests. So each record ends with a seal, a code that
// only the owner of a key can compute. It covers the project, the job, the number of the record
// and the digest of its line; the chain covers all records before.

// A SealKey is a secret that seals records.
type SealKey [32]byte

// ID names a key without telling anything about it.
func (k SealKey) ID() string {
	sum := sha256.Sum256(append([]byte("perstack seal key\n"), k[:]...))
	return hex.EncodeToString(sum[:4])
}

// sealBytes is the length of the code in a seal.
const sealBytes = 16

// A Sealer seals what is written to journals, and checks the seals of what is continued. It is
// handed to a store by its [Sealing] interface. A nil Sealer does neither.
type Sealer struct {
	project string
	adopted []string
	keys    func() ([]*sealingKey, error) // newest first
	trust   bool
}

// NewSealer returns a Sealer for the jobs of a project, which can have any name but "". It seals
// with the newest key. The older ones still check.
func NewSealer(project string, newest SealKey, older ...SealKey) *Sealer {
	return NewLazySealer(project, func() ([]SealKey, error) { return append([]SealKey{newest}, older...), nil })
}

// NewLazySealer is [NewSealer] with keys that are asked for when they are first needed, newest
// first. Without any, nothing can be sealed.
func NewLazySealer(project string, keys func() ([]SealKey, error)) *Sealer {
	return &Sealer{project: project, keys: sync.OnceValues(func() (ready []*sealingKey, err error) {
		all, err := keys()
		for _, key := range all {
			ready = append(ready, newSealingKey(key))
		}
		return ready, err
	})}
}

// A sealingKey is a key that is ready for use: a Run seals thousands of records.
type sealingKey struct {
	id    string
	codes sync.Pool // of hash.Hash
}

func newSealingKey(key SealKey) *sealingKey {
	k := &sealingKey{id: key.ID()}
	k.codes.New = func() any { return hmac.New(sha256.New, key[:]) }
	return k
}

// Adopt returns a Sealer that accepts jobs of other projects, too: those that the project was
// before it was moved.
func (s *Sealer) Adopt(projects ...string) *Sealer {
	adopted := *s
	adopted.adopted = slices.Concat(s.adopted, projects)
	return &adopted
}

// Trusting returns a Sealer that seals, but accepts every history. It is for a user who wants to
// continue a job that another program may have written.
func (s *Sealer) Trusting() *Sealer {
	trusting := *s
	trusting.trust = true
	return &trusting
}

// A Sealing is a [Store] that can seal its records.
type Sealing interface {
	// WithSeal returns the same store, whose records are sealed from now on. Its Open returns
	// a [*SealError] for a job that the Sealer does not accept.
	WithSeal(*Sealer) Store
}

// What a seal is for, so that one cannot be taken for the other.
const (
	recordSeal = "record"
	headSeal   = "head"
)

// code computes the code of a seal. The project that sealed a job is recorded with it.
func (k *sealingKey) code(kind, project, jobID string, head Head) []byte {
	var buf [256]byte
	text := append(buf[:0], kind...)
	text = strconv.AppendQuote(append(text, ' '), project)
	text = strconv.AppendQuote(append(text, ' '), jobID)
	text = strconv.AppendInt(append(text, ' '), head.Seq, 10)
	text = hex.AppendEncode(append(text, ' '), head.Digest[:])
	mac := k.codes.Get().(hash.Hash)
	defer k.codes.Put(mac)
	mac.Reset()
	mac.Write(text)
	return mac.Sum(nil)[:sealBytes]
}

func (s *Sealer) seal(kind, project, jobID string, head Head) (string, error) {
	keys, err := s.keys()
	if err != nil {
		return "", err
	}
	if len(keys) == 0 {
		return "", errors.New("there is no key to seal records with")
	}
	return keys[0].id + "." + hex.EncodeToString(keys[0].code(kind, project, jobID, head)), nil
}

// check returns a [*SealError] if something is wrong with a seal.
func (s *Sealer) check(seal, kind, project, jobID string, head Head) error {
	keys, err := s.keys()
	if err != nil {
		return err
	}
	wrong := &SealError{JobID: jobID, Seq: head.Seq, Head: kind == headSeal}
	id, hexCode, _ := strings.Cut(seal, ".")
	at := slices.IndexFunc(keys, func(k *sealingKey) bool { return k.id == id })
	got, err := hex.DecodeString(hexCode)
	switch {
	case seal == "":
		wrong.Fault = Unsealed
	case at < 0:
		wrong.Fault, wrong.Key = UnknownKey, id
	case err != nil || !hmac.Equal(got, keys[at].code(kind, project, jobID, head)):
		wrong.Fault = Forged
	default:
		return nil
	}
	return wrong
}

// SealHead returns the seal of a recorded head, for a store that is a [HeadKeeper]. project is
// that of its [Chain]; before the first record it is that of the Sealer.
func (s *Sealer) SealHead(project, jobID string, head Head) (string, error) {
	if s == nil {
		return "", nil
	}
	return s.seal(headSeal, cmp.Or(project, s.project), jobID, head)
}

// Check returns a [*SealError] if a job must not be continued: if its last record, or the
// recorded head, was not sealed by one of the keys, or if it belongs to another project. The
// chain must be at the end of the journal. A nil recorded stands for a store that is no
// [HeadKeeper].
func (s *Sealer) Check(chain Chain, recorded *Recorded) error {
	if s == nil || s.trust || chain.Head.Seq == 0 {
		return nil
	}
	if err := s.check(chain.seal, recordSeal, chain.Project, chain.JobID, chain.sealed); err != nil {
		return err
	}
	if chain.Project != s.project && !slices.Contains(s.adopted, chain.Project) {
		return &SealError{JobID: chain.JobID, Seq: chain.Head.Seq, Fault: OtherProject, Project: chain.Project}
	}
	if recorded == nil {
		return nil
	}
	if err := s.check(recorded.Seal, headSeal, chain.Project, chain.JobID, recorded.Head); err != nil {
		return err
	}
	return chain.CheckEnd(recorded.Head)
}

// A SealFault says what is wrong with a seal.
type SealFault int

// The faults of seals.
const (
	Unsealed     SealFault = iota // there is none
	Forged                        // it is not of the record that carries it
	UnknownKey                    // it was made with a key that is not at hand
	OtherProject                  // the job belongs to another project
)

// A SealError says that a history was not sealed by one of the keys at hand, or not in this
// project. It can be read, but is not continued.
type SealError struct {
	JobID   string
	Seq     int64 // of the record
	Head    bool  // it is the recorded head that is wrong
	Fault   SealFault
	Key     string // the id of an unknown key
	Project string // the other project
}

func (e *SealError) Error() string {
	what := fmt.Sprintf("record %d", e.Seq)
	if e.Head {
		what = "the recorded head"
	}
	switch e.Fault {
	case Unsealed:
		if e.Head && e.Seq == 0 {
			return fmt.Sprintf("job %s is not sealed: its recorded head is missing or cannot be read, so the journal may have been cut back", e.JobID)
		}
		return fmt.Sprintf("job %s is not sealed: %s has no seal, so any program may have written it", e.JobID, what)
	case UnknownKey:
		return fmt.Sprintf("job %s was sealed by another user or program: the key %q of %s is not known here", e.JobID, e.Key, what)
	case OtherProject:
		return fmt.Sprintf("job %s was recorded in another project (%q)", e.JobID, e.Project)
	}
	return fmt.Sprintf("job %s is forged: the seal of %s does not match it", e.JobID, what)
}
