package anthropic

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/rawjson"
)

// A hosting is what a kept block says of a call that the provider runs itself: its id, or
// the id of the call whose result it is.
type hosting struct {
	Type   string `json:"type"`
	Call   string `json:"id"`
	Result string `json:"tool_use_id"`
}

func hostingOf(block rawjson.Value) (h hosting) {
	if wire.Decode(block, &h) != nil {
		return hosting{}
	}
	if h.Type != "server_tool_use" && h.Type != "mcp_tool_use" {
		h.Call = ""
	}
	return h
}

// settle takes out calls of the provider's own whose result never came: a turn paused,
// and instead of continuing it the user said something new. The API would refuse every
// later request. The last turn may wait, since it continues now.
func (m *Model) settle(messages []*event.Message, all []*encoded) {
	var turn []int // of the assistant, that may be one message of several of ours
	for i, e := range all {
		switch {
		case e.voice.Empty || messages[i].Type == event.InstructionMessage:
		case e.voice.Role == wire.RoleAssistant:
			turn = append(turn, i)
		default:
			m.settleTurn(messages, all, turn)
			turn = turn[:0]
		}
	}
}

func (m *Model) settleTurn(messages []*event.Message, all []*encoded, turn []int) {
	open := map[string]bool{}
	for _, i := range turn {
		for _, h := range all[i].hosted {
			if h.Call != "" {
				open[h.Call] = true
			}
			delete(open, h.Result)
		}
	}
	for _, i := range turn {
		for _, h := range all[i].hosted {
			if open[h.Call] {
				all[i] = (&encoder{author: m.cfg.Author, known: m.cfg.Known, without: open}).message(messages[i])
				break
			}
		}
	}
}
