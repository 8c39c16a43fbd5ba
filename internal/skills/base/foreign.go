package base

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/sandbox/policy"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/rawjson"
	"github.com/perstack-go/perstack/skill"
)

// Foreign wraps a base skill that another program serves. Its tools for images and PDFs can answer
// with the path of a file, for the runtime to read. The file is read here, with the path checks
// and limits of our own tools, and with the rights of the program's sandbox to the workspace.
//
// Only the base skill of an Expert is wrapped. Any other skill could have a file read that it
// cannot read itself (attack M1).
func Foreign(s skill.Skill, files *workspace.Workspace, in *policy.Policy) skill.Skill {
	own := &Skill{opts: Options{Workspace: files}}
	if in.Restricts() {
		own.threads = workspaceThreads(in.Workspace)
		own.threads.Start()
	}
	return &foreign{Skill: s, own: own}
}

type foreign struct {
	skill.Skill
	own *Skill
}

// Close ends both.
func (f *foreign) Close() error { return errors.Join(f.Skill.Close(), f.own.Close()) }

// Call replaces the path of a file with the file.
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

// namedFile returns the path in a result that consists of the description of a file.
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
