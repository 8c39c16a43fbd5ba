package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"sync"

	"github.com/perstack-go/perstack/model"
)

// ToolName is the name of a tool as an API takes it: letters, digits, _ and -, a letter or
// _ first, at most so many characters. Servers name their tools as they like; another name
// becomes one that ends in its digest, so that two never become one.
func ToolName(name string, most int) string {
	if len(name) <= most && plainName().MatchString(name) && !digested().MatchString(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	mark := "_x" + hex.EncodeToString(sum[:4])
	text := Identifier(name, most-len(mark)-1)
	if !plainName().MatchString(text) {
		text = "_" + text
	}
	return text + mark
}

var (
	plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]*$`) })
	// A server that gives a tool the name that another's would become gets one that is
	// digested once more.
	digested = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`_x[0-9a-f]{8}$`) })
)

// Names are the names of a request's tools.
type Names struct {
	Tools []model.Tool
	Most  int // characters that the API takes

	own map[string]string // by what was sent
}

// Own is the name of the tool that a model calls by the name it was sent. A name that was
// never sent stays as it is; the engine tells the model.
func (n *Names) Own(sent string) string {
	if n.own == nil { // made once: an answer may have thousands of calls
		n.own = make(map[string]string, len(n.Tools))
		for _, t := range n.Tools {
			name := ToolName(t.Name, n.Most)
			if _, taken := n.own[name]; !taken {
				n.own[name] = t.Name
			}
		}
	}
	if own, ok := n.own[sent]; ok {
		return own
	}
	return sent
}
