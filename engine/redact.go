package engine

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
)

// Secrets are taken out where text comes in from somewhere that may know them, before
// the event is recorded. So the model, the journal and whoever listens never see them:
//
//	results of tools         text, addresses, data       EndToolCall
//	notes of tools           while they run              ToolProgress
//	memory of skills         with the result             landed
//	tools                    as servers describe them    tools
//	what skills say          names, stderr, commands     Skill…
//	containers, proxy        messages, domains           Docker…, ProxyAccess
//	errors of the provider   tried again or final        Retry, StopRunByError
//	errors of anything else  and why a run was stopped   StopRunByError, StopRunByInterrupt
//
// Not touched is what the user wrote (query, instruction, answers) and what the model
// wrote (text, thinking, arguments). The user may name a key to the Expert on purpose.
// The model has seen only text that went through here; its own words must reach the
// provider again as they were signed, and a tool as they were meant: a marker in the
// arguments of a call would be written into a file.
//
// Logs and errors that leave the engine are redacted by whoever prints them.

// redacted returns body without secrets.
func (r *run) redacted(body event.Body) event.Body {
	switch b := body.(type) {
	case event.EndToolCall:
		b.ToolResult.Result = r.redactParts(b.ToolResult.Result)
		return b
	case event.ToolProgress:
		b.Message = r.Redact(b.Message)
		return b
	case event.Retry:
		if b.Transport { // else it is about what the model said
			b.Reason = r.Redact(b.Reason)
		}
		return b
	case event.StopRunByError:
		b.Error.Name, b.Error.Message = r.Redact(b.Error.Name), r.Redact(b.Error.Message)
		return b
	case event.StopRunByInterrupt:
		b.Reason = r.Redact(b.Reason)
		return b
	case event.SkillStarting:
		b.Command, b.Args = r.Redact(b.Command), r.redactAll(b.Args)
		return b
	case event.SkillConnected:
		if info := b.ServerInfo; info != nil {
			clean := *info
			clean.Name, clean.Version = r.Redact(info.Name), r.Redact(info.Version)
			b.ServerInfo = &clean
		}
		return b
	case event.SkillStderr:
		b.Message = r.Redact(b.Message)
		return b
	case event.DockerBuildProgress:
		b.Message = r.Redact(b.Message)
		return b
	case event.DockerContainerStatus:
		b.Message = r.Redact(b.Message)
		return b
	case event.ProxyAccess:
		b.Domain, b.Reason = r.Redact(b.Domain), r.Redact(b.Reason)
		return b
	}
	return body
}

func (r *run) redactAll(texts []string) []string {
	clean := make([]string, len(texts)) // not in place: the list may be the Expert's
	for i, text := range texts {
		clean[i] = r.Redact(text)
	}
	return clean
}

// hiddenData stands for an image or a file with a secret in it. A part of the bytes
// cannot be replaced: providers refuse a conversation with a broken file in it.
const hiddenData = "This part was left out, because its data contains a secret."

func (r *run) redactParts(parts []event.Part) []event.Part {
	clean := make([]event.Part, len(parts))
	for i, p := range parts {
		if r.Redact(p.EncodedData) != p.EncodedData || r.Redact(p.Data) != p.Data {
			p = event.Part{ID: p.ID, Type: event.TextPart, Text: hiddenData}
		}
		p.Text, p.URL = r.Redact(p.Text), r.Redact(p.URL)
		if p.Contents != nil {
			p.Contents = r.redactParts(p.Contents)
		}
		clean[i] = p
	}
	return clean
}

// redactMemory takes secrets out of what a skill remembers. What is no JSON any more
// after it is not remembered.
func (r *run) redactMemory(memory jsontext.Value) jsontext.Value {
	text := string(memory)
	clean := jsontext.Value(r.Redact(text))
	switch {
	case string(clean) == text:
		return memory
	case !clean.IsValid():
		return nil
	}
	return clean
}

// redactSchema takes secrets out of a schema. What is no JSON any more after it is
// replaced by one that says nothing: providers refuse a tool without a schema.
func (r *run) redactSchema(schema jsontext.Value) jsontext.Value {
	if clean := r.redactMemory(schema); clean != nil || schema == nil {
		return clean
	}
	return jsontext.Value(`{"type":"object"}`)
}
