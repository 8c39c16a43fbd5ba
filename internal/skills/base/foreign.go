package base

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// Foreign returns a base skill that another program serves, so that its tools for images
// and PDFs work: they may answer with the path of a file, and leave it to the runtime to
// read it. The file is read here, through the fence and with the limits of our own
// tools: what the other program says about place, type and size is not believed.
//
// Only the skill that is the base skill of an Expert may be wrapped. Any other could
// name a file to have it read (attack M1); what it says stays text. Of the workspace it is
// read what the program itself may read: what its sandbox allows, or all of it without one.
func Foreign(s skill.Skill, files *workspace.Workspace, in *landlock.Policy) skill.Skill {
	own := &Skill{opts: Options{Workspace: files}}
	if in != nil {
		own.threads = workspaceThreads(in, files.Path())
	}
	return &foreign{Skill: s, own: own}
}

type foreign struct {
	skill.Skill
	own *Skill
}

// Close ends both.
func (f *foreign) Close() error { return errors.Join(f.Skill.Close(), f.own.Close()) }

// Call replaces the name of a file with the file.
func (f *foreign) Call(ctx context.Context, call event.ToolCall) (event.ToolResult, error) {
	r, err := f.Skill.Call(ctx, call)
	if err != nil || r.IsError {
		return r, err
	}
	if call.ToolName != "readImageFile" && call.ToolName != "readPdfFile" {
		return r, nil
	}
	path, ok := namedFile(r.Result)
	if !ok {
		return r, nil
	}
	args, err := json.Marshal(map[string]string{"path": path})
	if err != nil {
		return r, nil
	}
	return result(call, f.own.answer(ctx, tools[call.ToolName], args)), nil
}

// namedFile returns the path of a result that is nothing but the description of a file.
// Everything else is passed on as it is.
func namedFile(parts []event.Part) (path string, ok bool) {
	if len(parts) != 1 || parts[0].Type != event.TextPart {
		return "", false
	}
	var body struct {
		Path     *string       `json:"path"`
		MIMEType *string       `json:"mimeType"`
		Size     rawjson.Value `json:"size"`
	}
	err := json.Unmarshal([]byte(parts[0].Text), &body)
	if err != nil || body.Path == nil || body.MIMEType == nil || body.Size.Kind() != '0' {
		return "", false
	}
	return *body.Path, true
}
