package serve

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	wire "github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/rawjson"
)

// Whatever comes over the stream is read to its end, as messages that can be written
// again or as faults whose answers are valid JSON.
func FuzzFrames(f *testing.F) {
	for _, seed := range []string{
		"", "\n\r\n", "{}", "null\n[]\n", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":"é","result":{}}` + "\n{",
		`{"jsonrpc":"2.0","id":1e400,"method":"x"}`, `{"jsonrpc":"2.0","id":[[[[1]]]],"error":5}`, "\xff\xfe", `{"a":1,"a":2}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		in := bufio.NewReaderSize(bytes.NewReader(stream), 16)
		for {
			frame, err := wire.Read(in)
			if errors.Is(err, io.EOF) {
				return
			}
			var message jsonrpc.Message
			if err == nil {
				message, err = wire.Parse(frame)
			}
			var bad *wire.Error
			switch {
			case errors.As(err, &bad):
				if answer := rawjson.Value(refusal(bad)); !answer.IsValid() {
					t.Fatalf("%q is answered with %q", frame, answer)
				}
			case err != nil:
				t.Fatalf("%q: %v", frame, err)
			default:
				if again, err := jsonrpc.EncodeMessage(message); err != nil || !rawjson.Value(again).IsValid() {
					t.Fatalf("%q is written as %q: %v", frame, again, err)
				}
			}
		}
	})
}
