package bedrock

import (
	"slices"

	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

const maxName = 64 // of a tool, and of the id of a call

// tools is the part of a request that is about tools, with a comma behind it. The service
// wants tools listed when the conversation mentions any, and has no way to say that none
// may be called: a request for words alone goes without them if it can.
func (m *Model) tools(req *model.Request, all []*encoded, point bool) []byte {
	offered := req.Tools
	if req.TextOnly || len(offered) == 0 {
		used := used(all)
		switch {
		case len(used) == 0:
			return nil
		case len(offered) == 0:
			offered = used
		}
	}
	return m.lists.Get(offered, func(tools []model.Tool) []byte { return writeTools(tools, point) })
}

// used lists tools that the conversation mentions but the request no longer offers.
func used(all []*encoded) (tools []model.Tool) {
	for _, e := range all {
		for _, name := range e.tools {
			if !slices.ContainsFunc(tools, func(t model.Tool) bool { return t.Name == name }) {
				tools = append(tools, model.Tool{Name: name, Description: "This tool is not available any more."})
			}
		}
	}
	return tools
}

var toolForm = wire.ToolForm{Open: `{"toolSpec":{`, Schema: `,"inputSchema":{"json":`, Close: `}}}`, Fit: wire.AnyObject, MaxName: maxName}

func writeTools(tools []model.Tool, point bool) []byte {
	text := append([]byte(`"toolConfig":{"tools":[`), toolForm.Write(tools)...)
	if point {
		text = append(text, `,`+cachePoint...)
	}
	return append(text, `],"toolChoice":{"auto":{}}},`...)
}

// callID is the id of a call as the service takes it. One that is too long ends in its
// digest, so that two never become one.
func callID(id string) string {
	if s := wire.Identifier(id, len(id)*10+len("unnamed")); len(s) <= maxName {
		return s
	}
	return wire.ToolName(id, maxName)
}
