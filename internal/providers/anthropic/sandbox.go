package anthropic

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/providers/wire"
)

// A sandbox is the container in which the provider runs code. A request that does not name
// it gets another, in which none of the files is that were made before.
type sandbox struct {
	Type      string    `json:"type"`
	ID        string    `json:"id"`
	ExpiresAt time.Time `json:"expires_at"`
}

const typeSandbox = "container"

// sandboxOf reads what a stream says of a container, or a part that keeps it.
func sandboxOf(raw jsontext.Value) *sandbox {
	var s sandbox
	if len(raw) == 0 || wire.Decode(raw, &s) != nil || s.ID == "" {
		return nil
	}
	return &s
}

// part keeps the container with the answer that used it.
func (s *sandbox) part() event.Part {
	return event.Part{Type: event.ProviderPart, ToolName: typeSandbox, ProviderData: marshal(sandbox{typeSandbox, s.ID, s.ExpiresAt})}
}

// container is the member of a request: the skills that are wanted, and the container of
// the last answer while it is there.
func (m *Model) container(talk []*encoded) jsontext.Value {
	if !m.hosted.has("code_execution") || m.cfg.Extra.Has("container") {
		return nil
	}
	skills := m.hosted.container
	var last *sandbox
	for _, e := range talk {
		if e.sandbox != nil {
			last = e.sandbox
		}
	}
	switch {
	case last == nil || time.Until(last.ExpiresAt) < time.Minute:
		return skills
	case skills == nil:
		return wire.Quote(last.ID)
	}
	return append([]byte(`{"id":`+string(wire.Quote(last.ID))+`,`), skills[1:]...)
}
