package serve

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	wire "github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/rawjson"
)

// refusal returns the answer to an invalid frame.
func refusal(bad *wire.Error) []byte {
	id := bad.ID
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
	}{"2.0", id, problem{bad.Code, bad.Message}}, jsontext.AllowInvalidUTF8(true))
	if err != nil { // the id was checked to be JSON
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return frame
}
