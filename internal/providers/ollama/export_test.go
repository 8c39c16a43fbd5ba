package ollama

import (
	"time"

	"github.com/perstack-go/perstack/rawjson"
)

// Encodings counts the messages that were encoded so far.
func (m *Model) Encodings() int64 { return m.messages.Count() }

// LimitMedia sets what the media of a request may weigh.
func (m *Model) LimitMedia(bytes int) { m.media = bytes }

// Parameters is a schema as it is sent.
func Parameters(schema string) string { return string(parameters(rawjson.Value(schema))) }

// Waits are how long a line is waited for; below 0 there is no limit.
func (m *Model) Waits() (first, idle time.Duration) {
	return m.config.Client.FirstByte, m.config.Client.Idle
}
