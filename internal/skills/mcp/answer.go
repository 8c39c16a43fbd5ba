package mcp

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/rawjson"
)

// maxErrorText is how much of an error text of a server is kept.
const maxErrorText = 4 << 10

// answer returns what the library gets in place of the server's answer.
func (q *pendingRequest) answer(m *jsonrpc.Response, redact func(string) string) *jsonrpc.Response {
	problem, isProblem := errors.AsType[*jsonrpc.Error](m.Error)
	hasResult := len(m.Result) > 0
	switch {
	case hasResult == (m.Error != nil), m.Error != nil && !isProblem:
		return q.refuse(m.ID, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server answered with neither a result nor an error, or with both"})
	case isProblem:
		return q.refuse(m.ID, shorten(problem, redact))
	case q.canned == "":
		return m
	}
	q.result = m.Result
	return &jsonrpc.Response{ID: m.ID, Result: []byte(q.canned)}
}

// refuse returns an answer that is an error.
func (q *pendingRequest) refuse(id jsonrpc.ID, problem *jsonrpc.Error) *jsonrpc.Response {
	q.problem.Store(problem)
	return &jsonrpc.Response{ID: id, Error: problem}
}

// shorten cuts the text of an error. Its data are kept only where the protocol defines them: the
// versions that a server supports.
func shorten(e *jsonrpc.Error, redact func(string) string) *jsonrpc.Error {
	short := &jsonrpc.Error{Code: e.Code, Message: cutMiddle(redact(e.Message), maxErrorText)}
	if e.Code == sdk.CodeUnsupportedProtocolVersion && len(e.Data) <= maxErrorText {
		short.Data = e.Data
	}
	return short
}

// wireID parses an id as that of an answer.
func wireID(text rawjson.Value) (jsonrpc.ID, bool) {
	message, _ := frame.Parse(slices.Concat([]byte(`{"jsonrpc":"2.0","result":{},"id":`), text, []byte("}")))
	answer, ok := message.(*jsonrpc.Response) // nothing is one, if it cannot be parsed
	if !ok {
		return jsonrpc.ID{}, false
	}
	return answer.ID, answer.ID.IsValid()
}

// cutMiddle shortens a text to about most bytes, with a note in the middle: the end of an output
// often matters as much as its beginning.
func cutMiddle(text string, most int) string {
	if len(text) <= most {
		return text
	}
	half := most / 2
	head, tail := text[:half], text[len(text)-half:]
	return strings.ToValidUTF8(head, "") + "\n[… " + strconv.Itoa(len(text)-2*half) + " bytes left out …]\n" + strings.ToValidUTF8(tail, "")
}
