package event

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/rawjson"
)

// MaxSize is the largest encoded event that [Unmarshal] reads: enough for a full checkpoint
// with several inline images and PDFs.
const MaxSize = 512 << 20

// encoding writes equal events as equal bytes. Text that is not UTF-8 is replaced, not refused:
// a tool can return any bytes, and a run must not fail because of them.
var encoding = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true), json.WithMarshalers(marshalers))

// marshalers write events and parts straight into an encoder. They are functions because the
// library's encoder has no place in exported methods.
var marshalers = json.JoinMarshalers(
	json.MarshalToFunc(func(enc *jsontext.Encoder, e Event) error { return e.encode(enc) }),
	json.MarshalToFunc(func(enc *jsontext.Encoder, p Part) error { return p.encode(enc) }),
)

// decoding refuses null in the place of a message. Elsewhere null is the zero value, but
// messages are pointers, and code that reads a conversation does not expect nil.
var decoding = json.WithUnmarshalers(json.JoinUnmarshalers(
	json.UnmarshalFromFunc(func(dec *jsontext.Decoder, _ **Message) error {
		if dec.PeekKind() == 'n' {
			return errors.New("null is not a message")
		}
		return errors.ErrUnsupported
	}),
	json.UnmarshalFromFunc(func(dec *jsontext.Decoder, p *Part) error { return p.decode(dec) }),
))

// ErrUnknownType is wrapped by [Unmarshal] for an event type that this version does
// not know.
var ErrUnknownType = errors.New("unknown event type")

// MarshalJSON is [Marshal], for other JSON libraries.
func (e Event) MarshalJSON() ([]byte, error) { return Marshal(e) }

// UnmarshalJSON is [Unmarshal], for other JSON libraries.
func (e *Event) UnmarshalJSON(data []byte) (err error) {
	*e, err = Unmarshal(data)
	return err
}

// encode writes e as one flat object.
func (e Event) encode(enc *jsontext.Encoder) error {
	if e.Body == nil {
		return errors.New("event without a body")
	}
	return e.kind().encode(enc, e)
}

// Marshal returns e as one line of JSON, without the newline.
func Marshal(e Event) ([]byte, error) {
	data, err := json.Marshal(e, encoding)
	if err != nil {
		return nil, fmt.Errorf("encode event: %w", err)
	}
	return data, nil
}

// Unmarshal decodes one event. Member names are case-sensitive and unique, text must be
// valid UTF-8, and nothing can follow the object. Unknown members are kept and encoded again.
//
// Names of earlier releases are read as today's. The exception is streamingText, which
// reported progress: it is an [ErrUnknownType], for the reader to skip.
func Unmarshal(data []byte) (Event, error) {
	if len(data) > MaxSize {
		return Event{}, fmt.Errorf("decode event: %d bytes are more than the limit of %d", len(data), MaxSize)
	}
	var head struct {
		Type Type `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return Event{}, fmt.Errorf("decode event: %w", err)
	}
	name := head.Type
	if newer, ok := renamed[name]; ok {
		name = newer
	}
	decode := decodeThought
	if k := kindsByName[name]; k != nil {
		decode = k.decode
	} else if name != "resolveThought" {
		return Event{}, fmt.Errorf("decode event: %w %q", ErrUnknownType, head.Type)
	}
	e, err := decode(data)
	if err != nil {
		return Event{}, fmt.Errorf("decode event %s: %w", head.Type, err)
	}
	return e, nil
}

// renamed maps the names of earlier releases to those of today.
var renamed = map[Type]Type{
	"startReasoning":    "startStreamingReasoning",
	"completeReasoning": "completeStreamingReasoning",
	"startRunResult":    "startStreamingRunResult",
}

// decodeThought reads the event with which earlier releases answered a call of their think
// tool: [ResolveToolResults] with one result, under another name.
func decodeThought(data []byte) (Event, error) {
	var w struct {
		Envelope   envelope                 `json:",embed"`
		ToolResult ToolResult               `json:"toolResult"`
		Unknown    map[string]rawjson.Value `json:",embed"`
	}
	err := json.Unmarshal(data, &w, decoding)
	return w.Envelope.event(ResolveToolResults{ToolResults: []ToolResult{w.ToolResult}, Extra: Extra{w.Unknown}}), err
}
