// Package frame reads messages of the Model Context Protocol: one a line, strictly, and within
// limits. Client and server use the same reader.
//
// Start reading at [Read] and [Parse].
package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/rawjson"
)

// The limits of a message.
const (
	MaxBytes = 16 << 20
	MaxDepth = 128 // of nesting; no tool needs more
)

// An Error describes an invalid message. The next one can be read.
type Error struct {
	ID      rawjson.Value // of the message, if it could be read
	Guess   rawjson.Value // what is probably its ID; for giving up, not for answering
	Code    int           // of JSON-RPC
	Message string
}

func (e *Error) Error() string { return e.Message }

// Parse checks a message strictly before the library parses it: the library is lenient, and an
// attacker can use a message that two parsers read differently.
func Parse(data []byte) (jsonrpc.Message, error) {
	if err := Check(data); err != nil {
		return nil, &Error{Guess: guess(data, data), Code: jsonrpc.CodeParseError, Message: "the message is not valid JSON: " + err.Error()}
	}
	if data[0] != '{' {
		return nil, &Error{Code: jsonrpc.CodeInvalidRequest, Message: "the message is not a JSON object; batches are not accepted"}
	}
	id := ID(data)
	if id.Kind() == '0' && !isWhole(id) { // the library would cut it, and answer another request
		return nil, &Error{ID: id, Code: jsonrpc.CodeInvalidRequest, Message: "the id must be a string or a whole number"}
	}
	message, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil, &Error{ID: id, Guess: id, Code: jsonrpc.CodeInvalidRequest, Message: wording.Cut(err.Error(), MaxShown)}
	}
	return message, nil
}

// isWhole reports whether a number is an integer that every reader of JSON agrees on.
func isWhole(number rawjson.Value) bool {
	n, err := strconv.ParseInt(string(number), 10, 64)
	return err == nil && n > -1<<53 && n < 1<<53
}

// MaxShown is how many bytes are shown of a text that can repeat what the other side wrote.
const MaxShown = 300

// Check checks that a text is one JSON value of a limited depth, in UTF-8, without repeated names.
func Check(data []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	for {
		_, err := dec.ReadToken()
		switch {
		case err != nil:
			return reasonOf(err)
		case dec.StackDepth() > MaxDepth:
			return fmt.Errorf("it is nested more than %d deep", MaxDepth)
		case dec.StackDepth() > 0:
			continue
		}
		if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
			return errors.New("there is text behind it")
		}
		return nil
	}
}

// reasonOf leaves out what the other side wrote.
func reasonOf(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return errors.New("it ends too early")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return errors.New("a name is given twice")
	case errors.As(err, &syntax):
		return fmt.Errorf("it is wrong at byte %d", syntax.ByteOffset)
	}
	return errors.New("it cannot be read")
}

// ID returns the id of an invalid message, if it is a string or a number.
func ID(data []byte) rawjson.Value {
	var request struct {
		ID rawjson.Value `json:"id"`
	}
	if json.Unmarshal(data, &request) != nil || !isID(request.ID) {
		return nil
	}
	return request.ID
}

func isID(v rawjson.Value) bool { return v.Kind() == '"' || v.Kind() == '0' }

// maxBatch is how many messages a list of them may have.
const maxBatch = 1_000

// Split returns the messages of a list, which servers of one version of the protocol (2025-03-26)
// can send.
func Split(data []byte) (messages []rawjson.Value, isList bool) {
	if len(data) == 0 || data[0] != '[' || Check(data) != nil {
		return nil, false
	}
	messages, more, err := List(data, maxBatch)
	return messages, err == nil && !more
}

// List returns the first elements of a JSON array, and whether there are more: a short text can
// have very many.
func List(data []byte, most int) (elements []rawjson.Value, more bool, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	open, err := dec.ReadToken()
	if err != nil {
		return nil, false, err
	}
	if open.Kind() != '[' {
		return nil, false, errors.New("it is no list")
	}
	for dec.PeekKind() != ']' {
		if len(elements) == most {
			return elements, true, nil
		}
		element, err := dec.ReadValue()
		if err != nil {
			return nil, false, err
		}
		elements = append(elements, rawjson.Value(element.Clone()))
	}
	return elements, false, nil
}
