package mcp

import (
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/skills/mcp/frame"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/rawjson"
)

// What is read of a notification. Members of the wrong type are ignored.
type (
	progressNote struct {
		Token    rawjson.Value `json:"progressToken"`
		Progress rawjson.Value `json:"progress"`
		Total    rawjson.Value `json:"total"`
		Message  rawjson.Value `json:"message"`
	}
	logNote struct {
		Level  rawjson.Value `json:"level"`
		Logger rawjson.Value `json:"logger"`
		Data   rawjson.Value `json:"data"`
	}
)

// progress reports progress to the call.
func (s *server) progress(params []byte) {
	var note progressNote
	if frame.Check(params) != nil || json.Unmarshal(params, &note) != nil {
		return
	}
	token, err := strconv.ParseInt(string(note.Token), 10, 64)
	if err != nil {
		return
	}
	s.mu.Lock()
	heard := s.progresses[token]
	s.mu.Unlock()
	if heard != nil {
		heard(note.text(s.redact))
	}
}

func (n progressNote) text(redact func(string) string) string {
	message := redact(textOf(n.Message))
	share := ""
	if n.Progress.Kind() == '0' {
		share = wording.Cut(string(n.Progress), 32)
		if n.Total.Kind() == '0' {
			share += "/" + wording.Cut(string(n.Total), 32)
		}
	}
	switch {
	case message == "":
		return share
	case share == "":
		return wording.Cut(message, maxLineBytes)
	}
	return wording.Cut(share+" "+message, maxLineBytes)
}

// said reports a log message like a line of standard error.
func (s *server) said(params []byte) {
	var note logNote
	if frame.Check(params) != nil || json.Unmarshal(params, &note) != nil {
		return
	}
	text := textOf(note.Data)
	if text == "" && len(note.Data) > 0 && note.Data.Kind() != '"' {
		text = string(note.Data)
	}
	text = s.redact(text)
	if logger := textOf(note.Logger); logger != "" {
		text = wording.Cut(s.redact(logger), 100) + ": " + text
	}
	if level := textOf(note.Level); level != "" {
		text = fmt.Sprintf("[%s] %s", wording.Cut(s.redact(level), 20), text)
	}
	if text != "" {
		s.skill.lineLimit.add(wording.Cut(text, maxLineBytes))
	}
}

// dropped logs why the first invalid message of a server was dropped.
func (s *server) dropped(why string) {
	s.dropOnce.Do(func() {
		s.skill.o.Log.Debug("a message of an MCP server was dropped", "skill", s.skill.o.Name, "why", why)
	})
}

// redact removes secrets from a text, before it is cut.
func (s *server) redact(text string) string { return s.skill.o.Redact(text) }

// textOf is a JSON string, or "" for anything else.
func textOf(v rawjson.Value) string {
	var text string
	if v.Kind() != '"' || json.Unmarshal(v, &text) != nil {
		return ""
	}
	return text
}
