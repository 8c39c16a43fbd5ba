package engine

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/rawjson"
)

// Secrets are removed where text comes in from a source that can know them, before the event
// is recorded. So the model, the journal and the listener never see them:
//
//	results of tools         text, addresses, data       EndToolCall
//	progress of tools        while they run              ToolProgress
//	memory of skills         with the result             endToolCall
//	tools                    as servers describe them    modelTools
//	reports of skills        names, stderr, commands     Skill…
//	containers, proxy        messages, domains           Docker…, ProxyAccess
//	hints about a sandbox    paths, hosts, programs      SandboxHint
//	what a call would do     files, commands             ApprovalRequested
//	errors of the provider   retried or final            Retry, StopRunByError
//	other errors             and why a Run was stopped   StopRunByError, StopRunByInterrupt
//	the recorded Spec        commands, addresses         StartRun
//
// What the user writes (query, instruction, answers) is left unchanged: the user can give a
// key to the Expert on purpose. What the model writes (text, reasoning, arguments) is left
// unchanged too. The model has seen only redacted text, its signed output must be sent back
// exactly as it was, and a marker in the arguments of a call would end up in a file.
//
// Logs and errors that leave the engine are redacted by the code that prints them.

// redactBody returns body without secrets.
func (r *run) redactBody(body event.Body) event.Body {
	switch b := body.(type) {
	case event.EndToolCall:
		b.ToolResult.Result = r.redactParts(b.ToolResult.Result)
		return b
	case event.ToolProgress:
		b.Message = r.parts.redact(b.Message)
		return b
	case event.Retry:
		if b.Transport { // otherwise it is about what the model wrote
			b.Reason = r.parts.redact(b.Reason)
		}
		return b
	case event.StopRunByError:
		b.Error.Name, b.Error.Message = r.parts.redact(b.Error.Name), r.parts.redact(b.Error.Message)
		return b
	case event.StopRunByInterrupt:
		b.Reason = r.parts.redact(b.Reason)
		return b
	case event.ApprovalRequested:
		b.Effect = r.parts.redactEffect(b.Effect)
		return b
	case event.SkillStarting:
		b.Command, b.Args = r.parts.redact(b.Command), r.parts.redactAll(b.Args)
		return b
	case event.SkillConnected:
		if info := b.ServerInfo; info != nil {
			clean := *info
			clean.Name, clean.Version = r.parts.redact(info.Name), r.parts.redact(info.Version)
			b.ServerInfo = &clean
		}
		return b
	case event.SkillStderr:
		b.Message = r.parts.redact(b.Message)
		return b
	case event.DockerBuildProgress:
		b.Message = r.parts.redact(b.Message)
		return b
	case event.DockerContainerStatus:
		b.Message = r.parts.redact(b.Message)
		return b
	case event.ProxyAccess:
		b.Domain, b.Reason, b.Command = r.parts.redact(b.Domain), r.parts.redact(b.Reason), r.parts.redact(b.Command)
		return b
	case event.SandboxHint:
		b.Path, b.Host, b.Command = r.parts.redact(b.Path), r.parts.redact(b.Host), r.parts.redact(b.Command)
		b.Message = r.parts.redact(b.Message)
		return b
	}
	return body
}

func (p *Parts) redactAll(texts []string) []string {
	clean := make([]string, len(texts)) // a copy: the slice can be the Expert's
	for i, text := range texts {
		clean[i] = p.redact(text)
	}
	return clean
}

// redactEffect returns what a call would do, without secrets.
func (p *Parts) redactEffect(f event.Effect) event.Effect {
	for _, text := range []*string{&f.Program, &f.Dir, &f.Path, &f.Named, &f.Diff, &f.Host, &f.Plan} {
		*text = p.redact(*text)
	}
	if f.Argv != nil {
		f.Argv = p.redactAll(f.Argv)
	}
	if f.Env != nil {
		f.Env = p.redactAll(f.Env)
	}
	return f
}

// hiddenData replaces an image or a file that contains a secret. It is replaced as a whole,
// because providers reject a conversation with a broken file.
const hiddenData = "This part was left out, because its data contains a secret."

func (r *run) redactParts(parts []event.Part) []event.Part {
	clean := make([]event.Part, len(parts))
	for i, p := range parts {
		if r.parts.redact(p.EncodedData) != p.EncodedData || r.parts.redact(p.Data) != p.Data {
			p = event.Part{ID: p.ID, Type: event.TextPart, Text: hiddenData}
		}
		p.Text, p.URL = r.parts.redact(p.Text), r.parts.redact(p.URL)
		if p.Contents != nil {
			p.Contents = r.redactParts(p.Contents)
		}
		clean[i] = p
	}
	return clean
}

// redactSpec removes secrets from the text of a recorded Spec: an argument of a skill can
// hold one. The workspace stays as it is, because a resumed job is compared with it.
func (p *Parts) redactSpec(text rawjson.Value) rawjson.Value {
	if p.Secrets == nil {
		return text
	}
	var clean bytes.Buffer
	dec, enc := jsontext.NewDecoder(bytes.NewReader(text)), jsontext.NewEncoder(&clean)
	for {
		token, err := dec.ReadToken()
		if err != nil { // at its end: the text was just written
			return bytes.TrimSuffix(clean.Bytes(), []byte("\n"))
		}
		in, n := dec.StackIndex(dec.StackDepth())
		isName := in == '{' && n%2 == 1
		if token.Kind() == '"' && !isName && !strings.HasPrefix(string(dec.StackPointer()), "/workspace/") {
			token = jsontext.String(p.Secrets.Redact(token.String()))
		}
		if err := enc.WriteToken(token); err != nil {
			return nil // it cannot happen: only strings were replaced
		}
	}
}

// redactMemory removes secrets from a skill's memory. Memory that is not valid JSON afterwards
// is dropped.
func (r *run) redactMemory(memory rawjson.Value) rawjson.Value {
	text := string(memory)
	clean := rawjson.Value(r.parts.redact(text))
	switch {
	case string(clean) == text:
		return memory
	case !clean.IsValid():
		return nil
	}
	return clean
}

// redactSchema removes secrets from a schema. A schema that is not valid JSON afterwards is
// replaced by an empty one, because providers reject a tool without a schema.
func (r *run) redactSchema(schema rawjson.Value) rawjson.Value {
	if clean := r.redactMemory(schema); clean != nil || schema == nil {
		return clean
	}
	return rawjson.Value(`{"type":"object"}`)
}
