package ollama

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
	"github.com/perstack-go/perstack/model"
)

// content is what a message or a result holds: words, and images beside them.
type content struct {
	lines  []string
	images []string
}

func (w *writer) content(parts []event.Part, ofTool bool) (c content) {
	for i := range parts {
		p := &parts[i]
		switch {
		case p.Type == event.TextPart && p.Text != "":
			c.lines = append(c.lines, p.Text)
		case wire.IsMedia(p):
			w.medium(&c, p, ofTool)
		}
	}
	return c
}

// medium adds an image, or the words of a file, or why neither is there.
func (w *writer) medium(c *content, p *event.Part, ofTool bool) {
	m, err := wire.MediaOf(p)
	leaveOut := func(why string) { c.lines = append(c.lines, wire.LeftOut(m.Type, why)) }
	switch {
	case err != nil:
		leaveOut(err.Error())
	case m.URL != "" && ofTool:
		leaveOut("an address that a tool returned is not fetched")
	case m.URL != "":
		leaveOut("this provider fetches no addresses; give the bytes")
	case m.Text != "":
		c.lines = append(c.lines, m.Text)
	case !m.IsImage():
		leaveOut("this provider takes png, jpeg, gif, webp and text")
	case w.blind:
		leaveOut("this model cannot see")
	case w.slim:
		leaveOut("sent before; left out to keep the request small")
	default:
		if ofTool {
			c.lines = append(c.lines, "[an image, which follows in a message of the user]")
		}
		c.images = append(c.images, m.Data)
		w.media += len(m.Data)
	}
}

// isBlind is false if nothing is known: the server then says so.
func (m *Model) isBlind() bool { return m.config.Known.Images == model.Unable }
