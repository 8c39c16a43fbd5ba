package mcp

import (
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/event"
)

// A timing is when the steps of a start were done.
type timing struct {
	now                             func() time.Time
	began, spawned, greeted, listed time.Time
}

// report is the event of a server that is ready.
func (t timing) report(name string, hello *sdk.InitializeResult, redact func(string) string) event.SkillConnected {
	between := func(from, to time.Time) *int64 {
		ms := to.Sub(from).Milliseconds()
		return &ms
	}
	connected := event.SkillConnected{
		SkillName:               name,
		SpawnDurationMS:         between(t.began, t.spawned),
		HandshakeDurationMS:     between(t.spawned, t.greeted),
		ToolDiscoveryDurationMS: between(t.greeted, t.listed),
		ConnectDurationMS:       between(t.began, t.greeted),
		TotalDurationMS:         between(t.began, t.listed),
	}
	if hello != nil && hello.ServerInfo != nil {
		connected.ServerInfo = &event.ServerInfo{
			Name: clip(redact(hello.ServerInfo.Name), lastLineBytes), Version: clip(redact(hello.ServerInfo.Version), lastLineBytes),
		}
	}
	return connected
}
