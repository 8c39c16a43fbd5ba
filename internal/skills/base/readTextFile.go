package base

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/skill"
)

//go:embed readTextFile.md
var readTextFileText string

const readTextFileSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "file inside the workspace"},
		"from": {"type": "integer", "minimum": 0, "description": "first line, counting from 0"},
		"to": {"type": "integer", "minimum": 0, "description": "line to stop before"}
	},
	"required": ["path"],
	"additionalProperties": false
}`

type readTextFileArgs struct {
	Path *string `json:"path"`
	From *int64  `json:"from"`
	To   *int64  `json:"to"`
}

// A readTextFileBody has pieces in From and To and lines in TotalLines: a final newline
// ends the last line, and adds an empty piece after it.
type readTextFileBody struct {
	Path       string `json:"path"`
	Content    string `json:"content"`
	From       int64  `json:"from"`
	To         int64  `json:"to"`
	TotalLines int64  `json:"totalLines"`
	Truncated  bool   `json:"truncated,omitzero"`
	LineCut    bool   `json:"lineCut,omitzero"`
}

// maxTextFile bounds the work of counting lines. It is far above what a model reads.
const maxTextFile = 64 << 20

func (s *Skill) readTextFile() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "readTextFile",
			Title:       "Read text file",
			Description: strings.TrimSpace(readTextFileText),
			InputSchema: jsontext.Value(readTextFileSchema),
			Repeatable:  true, // it only reads
			ReadOnly:    true,
		},
		run: s.runReadTextFile,
	}
}

func (s *Skill) runReadTextFile(ctx context.Context, call event.ToolCall) answer {
	args, err := decode[readTextFileArgs](call.Args)
	if err != nil {
		return refuseError(err)
	}
	path, err := required("path", args.Path)
	if err != nil {
		return refuseError(err)
	}
	from, err := natural("from", args.From, 0)
	if err != nil {
		return refuseError(err)
	}
	to, err := natural("to", args.To, -1)
	if err != nil {
		return refuseError(err)
	}
	file, err := s.opts.Workspace.OpenFile(ctx, path)
	if err != nil {
		return refuseError(err)
	}
	defer file.Close()
	if file.Size > maxTextFile {
		return refuse(codeTooLarge, tooLarge(path, file))
	}
	ex := excerpt{from: from, to: to, maxLines: maxLines, maxBytes: maxBytes}
	switch err := ex.read(ctx, file, maxTextFile); {
	case err == nil:
	case errors.Is(err, errBinary):
		return refuse(codeBinary, fmt.Sprintf("%q is a binary file: it contains NUL bytes", clip(path, 200)))
	case errors.Is(err, errTooLong):
		return refuse(codeTooLarge, tooLarge(path, file))
	case ctx.Err() != nil:
		return refuse(codeInterrupted, fmt.Sprintf("%q was not read to its end because the call was interrupted", clip(path, 200)))
	default:
		return refuse(codeIO, fmt.Sprintf("%q could not be read to its end", clip(path, 200)))
	}
	body := readTextFileBody{
		Path:       clean(path),
		Content:    clean(s.opts.Redact(string(ex.text))),
		From:       from,
		To:         ex.end(),
		TotalLines: ex.lines(),
		Truncated:  ex.truncated,
		LineCut:    ex.lineCut,
	}
	return answer{body: body}
}

func tooLarge(path string, file *workspace.File) string {
	return fmt.Sprintf("%q is too large to be read as text (%d bytes, at most %d); read parts of it with a command",
		clip(path, 200), file.Size, maxTextFile)
}
