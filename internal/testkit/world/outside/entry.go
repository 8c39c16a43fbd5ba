package outside

import (
	"io"
	"sync"

	"github.com/go-json-experiment/json"
)

// What a server can see.
const (
	KindReady   = "ready"   // all listeners of the role are open
	KindQuery   = "query"   // a question to the name server
	KindAccept  = "accept"  // a TCP connection
	KindBytes   = "bytes"   // the first bytes on it
	KindHello   = "hello"   // a TLS hello
	KindRequest = "request" // an HTTP request
	KindPacket  = "packet"  // a UDP packet
	KindSync    = "sync"    // the test asked whether all was told
)

// An Entry is one thing that a server saw.
type Entry struct {
	Where string `json:"where"` // the role of the server
	Kind  string `json:"kind"`
	From  string `json:"from,omitzero"` // address of who came
	Port  int    `json:"port,omitzero"` // at which it arrived
	Name  string `json:"name,omitzero"` // that was asked for: of a query, a hello, a request
	Type  string `json:"type,omitzero"` // of a query
	Text  string `json:"text,omitzero"` // first bytes, request line
	Body  string `json:"body,omitzero"`
	Key   bool   `json:"key,omitzero"`   // a request had something that proves who sends it
	Count int64  `json:"count,omitzero"` // of a sync: which one it is
	Pings int64  `json:"pings,omitzero"` // of a sync: ICMP echo requests that the machine has answered
}

// An entryWriter writes entries, one at a time.
type entryWriter struct {
	role string
	mu   sync.Mutex
	out  io.Writer
}

func (t *entryWriter) tell(e Entry) {
	e.Where = t.role
	line, err := json.Marshal(e)
	if err != nil {
		panic(err) // made of strings and numbers
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.out.Write(append(line, '\n')) // there is no listener any more
}

// clip bounds what is repeated, and makes it text.
func clip(data []byte, most int) string {
	const hexadecimal = "0123456789abcdef"
	out := make([]byte, 0, min(len(data), most))
	for _, c := range data[:min(len(data), most)] {
		if c >= ' ' && c < 0x7f || c == '\n' {
			out = append(out, c)
			continue
		}
		out = append(out, '\\', 'x', hexadecimal[c>>4], hexadecimal[c&15])
	}
	return string(out)
}
