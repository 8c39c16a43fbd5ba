package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

// Version is that of the format of records and events. It stands in the first record of
// every journal; version 1, which no release wrote, had none there.
const Version = 2

// MaxLine is the longest line of a journal: the largest event and its head.
const MaxLine = event.MaxSize + 256

// EncodeRecord makes the record of an event:
//
//	{"seq":1,"prev":"<64 hex digits>","version":2,"event":{…}}
//
// Only the first record has the version, which is that of the whole journal.
//
// The line has room for one more byte, so that a writer can append the newline
// without copying it. It is read again before it is returned: a line that
// [DecodeRecord] would call damage must never be appended.
func EncodeRecord(seq int64, prev Digest, e event.Event) (Record, error) {
	body, err := event.Marshal(e)
	if err != nil {
		return Record{}, fmt.Errorf("record %d: %w", seq, err)
	}
	if len(body) > event.MaxSize {
		return Record{}, fmt.Errorf("record %d: an event of %d bytes is larger than the limit of %d", seq, len(body), event.MaxSize)
	}
	line := make([]byte, 0, len(body)+128)
	line = append(line, `{"seq":`...)
	line = strconv.AppendInt(line, seq, 10)
	line = append(line, `,"prev":"`...)
	line = hex.AppendEncode(line, prev[:])
	line = append(line, '"')
	if seq == 1 {
		line = append(line, `,"version":`...)
		line = strconv.AppendInt(line, Version, 10)
	}
	line = append(line, `,"event":`...)
	line = append(line, body...)
	line = append(line, '}')
	if bytes.IndexByte(line, '\n') >= 0 {
		// A newline ends a record. The encoder writes none; if it ever did, the
		// journal would be broken from here on.
		return Record{}, fmt.Errorf("record %d: the encoded event holds a line break", seq)
	}
	// The encoder proved the event alone. The record puts it one level deeper, which
	// is one too many for an event at the decoder's limit of nesting. Only the lexer
	// has to say so: a second decoding of the event would double the cost of a step.
	if _, _, err := decodeHead(line); err != nil {
		return Record{}, fmt.Errorf("record %d could not be read again, so it is not written: %w", seq, err)
	}
	return Record{Seq: seq, Prev: prev, Event: e, Line: line}, nil
}

// DecodeRecord reads one line of a journal, without its newline. It does not know the
// line's neighbours: see [Chain]. A line that is sound except that its event type is
// not known gives the record without the event, and an error that wraps
// [event.ErrUnknownType].
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

// decodeHead reads what stands around the event, which stays encoded, in its line.
func decodeHead(line []byte) (Record, rawjson.Value, error) {
	if len(line) > MaxLine {
		return Record{}, nil, fmt.Errorf("a line of %d bytes is longer than the limit of %d", len(line), MaxLine)
	}
	var head struct {
		Seq     int64   `json:"seq"`
		Prev    *Digest `json:"prev"`    // a pointer tells missing from zero
		Version *int    `json:"version"` // of the first record
		Event   span    `json:"event"`
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
	case head.Seq == 1 && *head.Version != Version:
		return Record{}, nil, &VersionError{Version: *head.Version}
	}
	return Record{Seq: head.Seq, Prev: *head.Prev, Line: line}, body, nil
}

// A span is where a value stands in its line. Copies of all events would be half of
// what a long journal costs to read.
type span struct{ start, end int64 }

// UnmarshalJSONFrom checks the value and remembers where it was.
func (s *span) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	s.end = dec.InputOffset()
	s.start = s.end - int64(len(v))
	return err
}

// A Head is an address in a journal: the number of a record and its digest. The zero
// Head stands before the first record.
type Head struct {
	Seq    int64
	Digest Digest
}

// A Chain walks along the records of one job and checks that each follows from the
// one before. The zero Chain with a JobID stands before the first record.
type Chain struct {
	JobID string
	Head  Head // the last record
}

// Next makes the record of e that follows. The chain moves on only when the record
// is handed to [Chain.Accept], after it has been written.
func (c *Chain) Next(e event.Event) (Record, error) {
	if e.Body != nil && e.JobID != c.JobID {
		return Record{}, fmt.Errorf("an event of job %q does not belong in the journal of job %q", e.JobID, c.JobID)
	}
	return EncodeRecord(c.Head.Seq+1, c.Head.Digest, e)
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
	c.Head = Head{Seq: r.Seq, Digest: sha256.Sum256(r.Line)}
	return nil
}

// unreadable returns the error for a next line that cannot be decoded. A journal of
// another version begins with a record of that version; anywhere else it is damage.
func (c *Chain) unreadable(err error) error {
	if version := (*VersionError)(nil); errors.As(err, &version) && c.Head.Seq == 0 {
		return &VersionError{JobID: c.JobID, Version: version.Version}
	}
	return c.Damage("%v", err)
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

// BrokenLink says which of two records was changed when a line does not follow from the
// one that the chain stands at: that one, or the line. The line that comes next tells, if
// there is one, or the head on record: if they know the line as it is, it is sound, and
// what it does not fit was changed. It returns nil if the line has another fault than
// this, or if the chain has no record yet that could be the changed one.
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
	// Nothing stands behind the line that could speak for it.
	return &DamageError{JobID: c.JobID, Seq: c.Head.Seq, Reason: fmt.Sprintf("record %d does not follow from it; one of the two was changed or replaced", r.Seq)}
}

// Damage returns the error for a next record that is not what was written.
func (c *Chain) Damage(format string, args ...any) *DamageError {
	return &DamageError{JobID: c.JobID, Seq: c.Head.Seq + 1, Reason: fmt.Sprintf(format, args...)}
}
