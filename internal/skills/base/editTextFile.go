package base

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed editTextFile.md
var editTextFileText string

const editTextFileSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "existing file inside the workspace"},
		"oldText": {"type": "string", "minLength": 1, "description": "the text to replace, which must occur exactly once"},
		"newText": {"type": "string", "description": "what to put in its place"}
	},
	"required": ["path", "oldText", "newText"],
	"additionalProperties": false
}`

type editTextFileArgs struct {
	Path    *string `json:"path"`
	OldText *string `json:"oldText"`
	NewText *string `json:"newText"`
}

func (s *Skill) editTextFile() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "editTextFile",
			Title:       "Edit text file",
			Description: strings.TrimSpace(editTextFileText),
			InputSchema: jsontext.Value(editTextFileSchema),
			Repeatable:  false, // a second run does not find the text, or finds another
		},
		run: s.runEditTextFile,
	}
}

func (s *Skill) runEditTextFile(ctx context.Context, call event.ToolCall) answer {
	args, err := decode[editTextFileArgs](call.Args)
	if err != nil {
		return refuseError(err)
	}
	path, err := required("path", args.Path)
	if err != nil {
		return refuseError(err)
	}
	oldText, err := required("oldText", args.OldText)
	if err != nil {
		return refuseError(err)
	}
	newText, err := required("newText", args.NewText)
	if err != nil {
		return refuseError(err)
	}
	if oldText == "" {
		return refuseError(wrong("oldText", "must not be empty"))
	}
	var before int
	info, err := s.opts.Workspace.EditFile(ctx, path, maxTextFile, func(old []byte) ([]byte, error) {
		before = len(old)
		return edit(old, oldText, newText)
	})
	if err != nil {
		return refuseEdit(path, err)
	}
	return answer{body: struct {
		Path       string `json:"path"`
		SizeBefore int    `json:"sizeBefore"`
		Size       int64  `json:"size"`
	}{clean(info.Path), before, info.Size}}
}

// An ambiguousEdit tells how often the text occurs, so that the model can give more of
// what is around the place it means.
type ambiguousEdit struct {
	failure
	Matches int `json:"matches"`
}

func refuseEdit(path string, err error) answer {
	name := clip(path, 200)
	var several *ambiguousError
	switch {
	case errors.As(err, &several):
		return answer{failed: true, body: ambiguousEdit{
			failure{Error: clean(fmt.Sprintf("oldText occurs %s times in %q; give more of the text around the place you mean", several.count(), name)), Code: codeAmbiguous},
			several.matches,
		}}
	case errors.Is(err, errNoMatch):
		return refuse(codeNoMatch, fmt.Sprintf("Could not find exact match of oldText in %q; read the file and copy the text as it is", name))
	case errors.Is(err, errBinary):
		return refuse(codeBinary, fmt.Sprintf("%q is a binary file: it contains NUL bytes", name))
	}
	return refuseError(err)
}
