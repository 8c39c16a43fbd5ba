package serve

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	maxFrame = 16 << 20 // bytes of one message
	maxDepth = 128      // of nesting; no tool needs more
)

// A frameError is what is wrong with a frame, and the answer to it. The next frame can
// be a good one.
type frameError struct {
	id      jsontext.Value // of the request, as far as it could be read
	code    int
	message string
}

func (e *frameError) Error() string { return e.message }

// answer is the error as a frame.
func (e *frameError) answer() []byte {
	id := e.id
	if len(id) == 0 {
		id = jsontext.Value("null")
	}
	type problem struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	frame, err := json.Marshal(struct {
		JSONRPC string         `json:"jsonrpc"`
		ID      jsontext.Value `json:"id"`
		Error   problem        `json:"error"`
	}{"2.0", id, problem{e.code, e.message}}, jsontext.AllowInvalidUTF8(true))
	if err != nil { // the id was not JSON, which it has been checked to be
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return frame
}

// readFrame reads the next line that is not blank. Of a line that is too long no more
// is kept in memory than fits.
func readFrame(in *bufio.Reader) ([]byte, error) {
	for {
		line, err := readLine(in)
		if line = bytes.TrimSpace(line); err != nil || len(line) > 0 {
			return line, err
		}
	}
}

func readLine(in *bufio.Reader) (line []byte, err error) {
	tooLong := false
	for {
		piece, err := in.ReadSlice('\n')
		switch {
		case len(line)+len(piece) > maxFrame:
			line, tooLong = nil, true
		case !tooLong:
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case tooLong:
			return nil, &frameError{code: jsonrpc.CodeInvalidRequest, message: fmt.Sprintf("the message is longer than %d bytes; split the work into smaller calls", maxFrame)}
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return line, nil // the end is reported by the next read
		}
		return line, err
	}
}

// parse reads a frame strictly, and only then hands it to the library: its parsers are
// lenient, and two readings of one message are what an attacker looks for.
func parse(frame []byte) (jsonrpc.Message, error) {
	if err := check(frame); err != nil {
		return nil, &frameError{code: jsonrpc.CodeParseError, message: "the message is not valid JSON: " + err.Error()}
	}
	if frame[0] != '{' {
		return nil, &frameError{code: jsonrpc.CodeInvalidRequest, message: "the message is not a JSON object; batches are not accepted"}
	}
	id := idOf(frame)
	if id.Kind() == '0' && !isWhole(id) { // the library would cut it, and answer somebody else
		return nil, &frameError{id: id, code: jsonrpc.CodeInvalidRequest, message: "the id must be a string or a whole number"}
	}
	message, err := jsonrpc.DecodeMessage(frame)
	if err != nil {
		return nil, &frameError{id: id, code: jsonrpc.CodeInvalidRequest, message: clip(err.Error())}
	}
	return message, nil
}

// isWhole reports whether a number is an integer that every reader of JSON agrees on.
func isWhole(number jsontext.Value) bool {
	n, err := strconv.ParseInt(string(number), 10, 64)
	return err == nil && n > -1<<53 && n < 1<<53
}

// clip shortens a text that may repeat what the client wrote.
func clip(text string) string {
	const most = 300
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// check reports what is wrong with a frame as JSON: one value of a sensible depth, in
// UTF-8, without repeated names.
func check(frame []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(frame))
	for {
		_, err := dec.ReadToken()
		switch {
		case err != nil:
			return reasonOf(err)
		case dec.StackDepth() > maxDepth:
			return fmt.Errorf("it is nested more than %d deep", maxDepth)
		case dec.StackDepth() > 0:
			continue
		}
		if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
			return errors.New("there is text behind it")
		}
		return nil
	}
}

// reasonOf leaves out what the client wrote, which may be anything.
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

// idOf returns the id of a request that is broken otherwise, if it is one that may be
// repeated: a string or a number.
func idOf(frame []byte) jsontext.Value {
	var request struct {
		ID jsontext.Value `json:"id"`
	}
	if json.Unmarshal(frame, &request) != nil || request.ID.Kind() != '"' && request.ID.Kind() != '0' {
		return nil
	}
	return request.ID
}
