package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

// Version is the version of the format of records and events. The first record of every
// journal has it; those of version 1, which no release wrote, had none. Version 3 added seals;
// journals of version 2 can still be read.
const (
	Version = 3
	oldest  = 2
)

// MaxLine is the longest line of a journal: the largest event with its head and its seal.
const MaxLine = event.MaxSize + 512

// EncodeRecord makes the record of an event, without a seal:
//
//	{"seq":1,"prev":"<64 hex digits>","version":3,"event":{…}}
//
// Only the first record has the version, which is that of the whole journal. A record that is
// sealed ends with "seal". The first of them has the name of the project before the event, and
// so has the first one that another project adds.
//
// The line has capacity for one more byte, so that a writer can append the newline without
// copying it. It is read again before it is returned: a line that [DecodeRecord] cannot read
// must never be appended.
func EncodeRecord(seq int64, prev Digest, e event.Event) (Record, error) {
	return (&Chain{JobID: e.JobID, Head: Head{Seq: seq - 1, Digest: prev}}).encode(e)
}

// encode makes the record of an event, and seals it.
func (c *Chain) encode(e event.Event) (Record, error) {
	seq, prev := c.Head.Seq+1, c.Head.Digest
	body, err := event.Marshal(e)
	if err != nil {
		return Record{}, fmt.Errorf("record %d: %w", seq, err)
	}
	if len(body) > event.MaxSize {
		return Record{}, fmt.Errorf("record %d: an event of %d bytes is larger than the limit of %d", seq, len(body), event.MaxSize)
	}
	line := make([]byte, 0, len(body)+192)
	line = fmt.Appendf(line, `{"seq":%d,"prev":"%s"`, seq, prev)
	if seq == 1 {
		line = fmt.Appendf(line, `,"version":%d`, Version)
	}
	if c.Sealer != nil && c.Sealer.project != c.Project {
		if line, err = jsontext.AppendQuote(append(line, `,"project":`...), c.Sealer.project); err != nil {
			return Record{}, fmt.Errorf("record %d: the name of the project: %w", seq, err)
		}
	}
	line = append(line, `,"event":`...)
	line = append(line, body...)
	h := sha256.New() // one for both digests: a line can be long
	h.Write(line)
	covered := len(line)
	var sealed, whole Digest
	if c.Sealer != nil {
		h.Sum(sealed[:0])
		seal, err := c.Sealer.seal(recordSeal, c.Sealer.project, c.JobID, Head{seq, sealed})
		if err != nil {
			return Record{}, fmt.Errorf("record %d: seal it: %w", seq, err)
		}
		line = append(append(append(line, sealBefore...), seal...), '"')
	}
	line = append(line, '}')
	h.Write(line[covered:])
	h.Sum(whole[:0])
	if bytes.IndexByte(line, '\n') >= 0 {
		return Record{}, fmt.Errorf("record %d: the encoded event holds a line break", seq)
	}
	// The record nests the event one level deeper, which can exceed the decoder's limit. Only
	// the lexer checks it: decoding the event again would double the cost of a step.
	r, _, err := decodeHead(line)
	if err != nil {
		return Record{}, fmt.Errorf("record %d could not be read again, so it is not written: %w", seq, err)
	}
	r.Event = e
	c.made = made{line, whole, sealed}
	return r, nil
}

// sealBefore comes before the seal of a record, and the seal covers what comes before this.
const sealBefore = `,"seal":"`

// DecodeRecord reads one line of a journal, without its newline. [Chain] checks that it follows
// from the line before. For an unknown event type it returns the record without the event, and
// an error that wraps [event.ErrUnknownType].
func DecodeRecord(line []byte) (Record, error) {
	r, body, err := decodeHead(line)
	if err != nil {
		return Record{}, err
	}
	r.Event, err = event.Unmarshal(body)
	switch {
	case errors.Is(err, event.ErrUnknownType):
		return r, fmt.Errorf("record %d has an event type that this version of perstack does not know; use a newer one (%w)", r.Seq, err)
	case err != nil:
		return Record{}, err
	}
	return r, nil
}

// decodeHead reads the members of a record. The event stays encoded.
func decodeHead(line []byte) (Record, rawjson.Value, error) {
	if len(line) > MaxLine {
		return Record{}, nil, fmt.Errorf("a line of %d bytes is longer than the limit of %d", len(line), MaxLine)
	}
	var head struct {
		Seq     int64   `json:"seq"`
		Prev    *Digest `json:"prev"`    // a pointer tells missing from zero
		Version *int    `json:"version"` // of the first record
		Project string  `json:"project"` // of the first record that is sealed in it
		Event   span    `json:"event"`
		Seal    string  `json:"seal"`
	}
	if err := json.Unmarshal(line, &head, json.RejectUnknownMembers(true)); err != nil {
		return Record{}, nil, fmt.Errorf("decode record: %w", err)
	}
	body := rawjson.Value(line[head.Event.start:head.Event.end])
	switch {
	case head.Seq < 1:
		return Record{}, nil, errors.New("decode record: it has no number")
	case head.Prev == nil:
		return Record{}, nil, errors.New("decode record: it has no digest of the one before")
	case body.Kind() != '{':
		return Record{}, nil, errors.New("decode record: it has no event")
	case head.Seq > 1 && head.Version != nil:
		return Record{}, nil, errors.New("decode record: it has a version, and only the first record can have one")
	case head.Seq == 1 && head.Version == nil:
		return Record{}, nil, &VersionError{Version: 1}
	case head.Seq == 1 && (*head.Version > Version || *head.Version < oldest):
		return Record{}, nil, &VersionError{Version: *head.Version}
	case head.Seal != "" && !endsWith(line, head.Seal):
		return Record{}, nil, errors.New("decode record: its seal is not at its end")
	}
	return Record{Seq: head.Seq, Prev: *head.Prev, Project: head.Project, Line: line, Seal: head.Seal}, body, nil
}

// endsWith reports whether a line ends with a seal, and nothing behind it.
func endsWith(line []byte, seal string) bool {
	rest, ok := bytes.CutSuffix(line, []byte(`"}`))
	if !ok || len(rest) < len(sealBefore)+len(seal) {
		return false
	}
	at := len(rest) - len(seal)
	return string(rest[at:]) == seal && string(rest[at-len(sealBefore):at]) == sealBefore
}

// digests returns the digest of a record, and that of the part which its seal covers.
func (r Record) digests() (whole, sealed Digest) {
	if r.Seal == "" {
		return r.Digest(), Digest{}
	}
	covered := len(r.Line) - len(sealBefore+r.Seal+`"}`)
	h := sha256.New()
	h.Write(r.Line[:covered])
	h.Sum(sealed[:0])
	h.Write(r.Line[covered:])
	h.Sum(whole[:0])
	return whole, sealed
}

// A span is the position of a value in its line. Copying all events would double the time to
// read a long journal.
type span struct{ start, end int64 }

// UnmarshalJSONFrom checks the value and notes its position.
func (s *span) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	s.end = dec.InputOffset()
	s.start = s.end - int64(len(v))
	return err
}

// A Head is an address in a journal: the number of a record and its digest. The zero Head
// comes before the first record.
type Head struct {
	Seq    int64
	Digest Digest
}

// A Chain checks that each record of a job follows from the one before. A Chain with only a
// JobID comes before the first record.
type Chain struct {
	JobID   string
	Head    Head    // the last record
	Project string  // that sealed the last record
	Sealer  *Sealer // seals the records of Next; nil for none

	seal   string // of the last record
	sealed Head   // what it covers

	made made // by Next
}

// made is a line with its digests. The line can be long, so Accept does not compute them again.
type made struct {
	line          []byte
	whole, sealed Digest
}

// ChainAt returns the chain after a record that was read and checked before. project is the one
// that sealed it.
func ChainAt(jobID, project string, last Record) Chain {
	whole, sealed := last.digests()
	return Chain{JobID: jobID, Project: project, Head: Head{last.Seq, whole}, seal: last.Seal, sealed: Head{last.Seq, sealed}}
}

// Next makes the record of e that follows. The chain moves on only when the record
// is handed to [Chain.Accept], after it has been written.
func (c *Chain) Next(e event.Event) (Record, error) {
	if e.Body != nil && e.JobID != c.JobID {
		return Record{}, fmt.Errorf("an event of job %q does not belong in the journal of job %q", e.JobID, c.JobID)
	}
	return c.encode(e)
}

// Accept checks that r follows, and moves on. A failure is a [*DamageError].
func (c *Chain) Accept(r Record) error {
	if r.Event.Body != nil && r.Event.JobID != c.JobID {
		return c.Damage("it belongs to job %q", r.Event.JobID)
	}
	return c.accept(r)
}

// Skip is [Chain.Accept] for a line whose event is not asked for, and is not decoded.
func (c *Chain) Skip(line []byte) error {
	r, _, err := decodeHead(line)
	if err != nil {
		return c.unreadable(err)
	}
	return c.accept(r)
}

func (c *Chain) accept(r Record) error {
	if want := c.Head.Seq + 1; r.Seq != want {
		return c.Damage("it has the number %d", r.Seq)
	}
	if r.Prev != c.Head.Digest {
		return c.Damage("it does not follow from the record before, which was changed or replaced")
	}
	whole, sealed := c.made.whole, c.made.sealed
	if len(r.Line) == 0 || len(c.made.line) != len(r.Line) || &c.made.line[0] != &r.Line[0] {
		whole, sealed = r.digests()
	}
	c.Head, c.seal, c.sealed = Head{r.Seq, whole}, r.Seal, Head{r.Seq, sealed}
	c.Project = cmp.Or(r.Project, c.Project)
	return nil
}

// unreadable returns the error for a next line that cannot be decoded. A journal of
// another version begins with a record of that version; anywhere else it is damage.
func (c *Chain) unreadable(err error) error {
	if version, ok := errors.AsType[*VersionError](err); ok && c.Head.Seq == 0 {
		return &VersionError{JobID: c.JobID, Version: version.Version}
	}
	return c.Damage("%s", malformed(err))
}

// malformed says why a line cannot be decoded. The decoder's own errors name Go types.
func malformed(err error) string {
	if _, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return "it is not valid JSON"
	}
	semantic, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case !ok:
		return err.Error()
	case semantic.JSONPointer == "":
		return "it is not a JSON object"
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Sprintf("it has a member %q, which no record has", semantic.JSONPointer)
	}
	return fmt.Sprintf("its member %q cannot be read", semantic.JSONPointer)
}

// Decode reads the line that follows, checks it and moves on. The error is a
// [*DamageError], a [*VersionError] for a journal of another version, or wraps
// [event.ErrUnknownType] when only the event is unknown.
func (c *Chain) Decode(line []byte) (Record, error) {
	r, err := DecodeRecord(line)
	unknown := errors.Is(err, event.ErrUnknownType)
	if err != nil && !unknown {
		return Record{}, c.unreadable(err)
	}
	if damage := c.Accept(r); damage != nil {
		return Record{}, damage
	}
	if unknown {
		return r, fmt.Errorf("job %s: %w", c.JobID, err)
	}
	return r, nil
}

// BrokenLink says which of two records was changed if a line does not follow from the last
// record of the chain. If the next line or the recorded head has the digest of the line, then
// the line is intact and the record before it was changed. It returns nil if something else
// is wrong with the line, or if the chain has no record yet.
func (c *Chain) BrokenLink(line, next []byte, recorded Head) *DamageError {
	r, _, err := decodeHead(line)
	if err != nil || c.Head.Seq == 0 || r.Seq != c.Head.Seq+1 || r.Prev == c.Head.Digest {
		return nil
	}
	digest := r.Digest()
	successor, _, err := decodeHead(next)
	follows := err == nil && successor.Seq == r.Seq+1
	switch {
	case recorded == Head{r.Seq, digest}, follows && successor.Prev == digest:
		return &DamageError{JobID: c.JobID, Seq: c.Head.Seq, Reason: fmt.Sprintf("it is not what record %d followed from; it was changed or replaced", r.Seq)}
	case recorded.Seq == r.Seq, follows:
		return c.Damage("it does not follow from the record before; it was changed or replaced")
	}
	// Nothing after the line says which one.
	return &DamageError{JobID: c.JobID, Seq: c.Head.Seq, Reason: fmt.Sprintf("record %d does not follow from it; one of the two was changed or replaced", r.Seq)}
}

// Damage returns the error for a next record that is not what was written.
func (c *Chain) Damage(format string, args ...any) *DamageError {
	return &DamageError{JobID: c.JobID, Seq: c.Head.Seq + 1, Reason: fmt.Sprintf(format, args...)}
}
