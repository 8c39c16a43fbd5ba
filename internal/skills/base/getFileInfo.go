package base

import (
	"context"
	_ "embed"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/workspace"
	"github.com/perstack-go/perstack/skill"
)

//go:embed getFileInfo.md
var getFileInfoText string

const getFileInfoSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "file or directory inside the workspace"}
	},
	"required": ["path"],
	"additionalProperties": false
}`

// A fileInfo has null for what only files have, and leaves out times that the file
// system does not keep.
type fileInfo struct {
	Exists        bool            `json:"exists"`
	Path          string          `json:"path"`
	AbsolutePath  string          `json:"absolutePath"`
	Name          string          `json:"name"`
	Directory     string          `json:"directory"`
	Extension     *string         `json:"extension"`
	Type          string          `json:"type"`
	MIMEType      *string         `json:"mimeType"`
	Size          int64           `json:"size"`
	SizeFormatted string          `json:"sizeFormatted"`
	Created       string          `json:"created,omitzero"`
	Modified      string          `json:"modified,omitzero"`
	Accessed      string          `json:"accessed,omitzero"`
	Permissions   filePermissions `json:"permissions"`
	Link          bool            `json:"link,omitzero"`
}

type filePermissions struct {
	Readable   bool `json:"readable"`
	Writable   bool `json:"writable"`
	Executable bool `json:"executable"`
}

func (s *Skill) getFileInfo() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "getFileInfo",
			Title:       "Get file info",
			Description: strings.TrimSpace(getFileInfoText),
			InputSchema: jsontext.Value(getFileInfoSchema),
			Repeatable:  true, // it only reads
			ReadOnly:    true,
		},
		run: s.runGetFileInfo,
	}
}

func (s *Skill) runGetFileInfo(ctx context.Context, call event.ToolCall) answer {
	path, err := pathOnly(call.Args)
	if err != nil {
		return refuseError(err)
	}
	info, err := s.opts.Workspace.Stat(ctx, path)
	if err != nil {
		return refuseError(err)
	}
	return answer{body: describeFile(info)}
}

func describeFile(info workspace.Info) fileInfo {
	path, name := clean(info.Path), clean(filepath.Base(info.Path))
	out := fileInfo{
		Exists:        true,
		Path:          path,
		AbsolutePath:  path,
		Name:          name,
		Directory:     clean(filepath.Dir(info.Path)),
		Type:          "directory",
		Size:          info.Size,
		SizeFormatted: formatSize(info.Size),
		Created:       formatTime(info.Created),
		Modified:      formatTime(info.Modified),
		Accessed:      formatTime(info.Accessed),
		Permissions: filePermissions{
			Readable: info.Readable,
			// The bits of the owner, whoever runs the process: what the other tools go by.
			Writable:   info.Mode.Perm()&0o200 != 0,
			Executable: info.Mode.Perm()&0o100 != 0,
		},
		Link: info.Link,
	}
	if !info.Dir {
		ext := extension(name)
		kind := typeOf(ext)
		out.Type, out.Extension, out.MIMEType = "file", &ext, &kind
		if !info.Mode.IsRegular() {
			out.Type = "other" // a pipe, a socket, a device: nothing that a tool opens
		}
	}
	return out
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeFormat)
}
