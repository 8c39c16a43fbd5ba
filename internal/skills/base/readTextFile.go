package base

import (
	"context"
	"errors"
	"fmt"

	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/internal/workspace"
)

type readTextFileArgs struct {
	Path string `json:"path" jsonschema:"file inside the workspace"`
	From int64  `json:"from,omitzero" minimum:"0" jsonschema:"first line, counting from 0"`
	To   *int64 `json:"to,omitzero" minimum:"0" jsonschema:"line to stop before"`
}

var _ = tools.add(define("readTextFile", (*Skill).readTextFile, readOnly))

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

func (s *Skill) readTextFile(ctx context.Context, args readTextFileArgs) answer {
	file, err := s.opts.Workspace.OpenFile(ctx, args.Path)
	if err != nil {
		return refuseError(err)
	}
	defer file.Close()
	if file.Size > maxTextFile {
		return refuse(codeTooLarge, tooLarge(args.Path, file))
	}
	ex := excerpt{from: args.From, to: valueOr(args.To, -1), maxLines: maxLines, maxBytes: maxBytes}
	switch err := ex.read(ctx, file, maxTextFile); {
	case err == nil:
	case errors.Is(err, errBinary):
		return refuse(codeBinary, fmt.Sprintf("%q is a binary file: it contains NUL bytes", wording.Cut(args.Path, 200)))
	case errors.Is(err, errTooLong):
		return refuse(codeTooLarge, tooLarge(args.Path, file))
	case ctx.Err() != nil:
		return refuse(codeInterrupted, fmt.Sprintf("%q was not read to its end because the call was interrupted", wording.Cut(args.Path, 200)))
	default:
		return refuse(codeIO, fmt.Sprintf("%q could not be read to its end", wording.Cut(args.Path, 200)))
	}
	body := readTextFileBody{
		Path:       clean(args.Path),
		Content:    clean(s.opts.Redact(string(ex.text))),
		From:       args.From,
		To:         ex.end(),
		TotalLines: ex.lines(),
		Truncated:  ex.truncated,
		LineCut:    ex.lineCut,
	}
	return answer{body: body}
}

func tooLarge(path string, file *workspace.File) string {
	return fmt.Sprintf("%q is too large to be read as text (%d bytes, at most %d); read parts of it with a command",
		wording.Cut(path, 200), file.Size, maxTextFile)
}
