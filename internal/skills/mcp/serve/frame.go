package serve

import (
	"bufio"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	wire "github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/rawjson"
)

// A frameError is what is wrong with a frame, and the answer to it. The next frame can
// be a good one.
type frameError struct {
	id      rawjson.Value // of the request, as far as it could be read
	code    int
	message string
}

func (e *frameError) Error() string { return e.message }

// answer is the error as a frame.
func (e *frameError) answer() []byte {
	id := e.id
	if len(id) == 0 {
		id = rawjson.Value("null")
	}
	type problem struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	frame, err := json.Marshal(struct {
		JSONRPC string        `json:"jsonrpc"`
		ID      rawjson.Value `json:"id"`
		Error   problem       `json:"error"`
	}{"2.0", id, problem{e.code, e.message}}, jsontext.AllowInvalidUTF8(true))
	if err != nil { // the id was not JSON, which it has been checked to be
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return frame
}

// readFrame reads the next line that is not blank.
func readFrame(in *bufio.Reader) ([]byte, error) {
	data, err := wire.Read(in)
	return data, answerable(err)
}

// parse reads a frame strictly.
func parse(data []byte) (jsonrpc.Message, error) {
	message, err := wire.Parse(data)
	return message, answerable(err)
}

// answerable makes the fault of a frame one that is answered.
func answerable(err error) error {
	if bad, ok := errors.AsType[*wire.Error](err); ok {
		return &frameError{id: bad.ID, code: bad.Code, message: bad.Message}
	}
	return err
}

// idOf returns the id of a request that is broken otherwise.
func idOf(data []byte) rawjson.Value { return wire.ID(data) }

// clip shortens a text that may repeat what the client wrote.
func clip(text string) string {
	const most = 300
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
