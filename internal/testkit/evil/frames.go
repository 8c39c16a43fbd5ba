package evil

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/rawjson"
)

// object is a JSON object. Its names come out in alphabetical order.
type object map[string]any

// A request is what a client sends: a call if it has an id, else a notification; or an
// answer to something that the server asked, if it has no method.
type request struct {
	ID     rawjson.Value `json:"id"`
	Method string        `json:"method"`
	Params rawjson.Value `json:"params"`
	Result rawjson.Value `json:"result"`
	Error  rawjson.Value `json:"error"`
}

// maxRequest bounds a line of the client. We are the evil ones here.
const maxRequest = 16 << 20

// readRequests calls handle for each line until the input ends or handle fails.
func readRequests(in io.Reader, handle func(request) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxRequest)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("the client sent what is no JSON-RPC: %w", err)
		}
		if err := handle(r); err != nil {
			return err
		}
	}
	return lines.Err()
}

// A writer sends frames. Some answers are late, so it may be used by several goroutines.
type writer struct {
	mu  sync.Mutex
	out io.Writer
	end string // what ends a line
}

// raw sends bytes as they are.
func (w *writer) raw(data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(data)
	return err
}

// line sends bytes and the end of a line.
func (w *writer) line(data []byte) error {
	return w.raw(append(data, w.end...))
}

// send sends a value as a frame.
func (w *writer) send(value any) error {
	data, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return err
	}
	return w.line(data)
}

// answer is the frame of a result.
func answer(id, result any) object {
	return object{"jsonrpc": "2.0", "id": id, "result": result}
}

// failure is the frame of an error.
func failure(id any, code int, message string) object {
	return object{"jsonrpc": "2.0", "id": id, "error": object{"code": code, "message": message}}
}

// notification is the frame of something that wants no answer.
func notification(method string) object {
	return object{"jsonrpc": "2.0", "method": method}
}

// nested is a JSON text of lists, depth deep.
func nested(depth int) rawjson.Value {
	return rawjson.Value(strings.Repeat("[", depth) + strings.Repeat("]", depth))
}

// errDone ends a server that has nothing more to do.
var errDone = errors.New("the server is done")
