package base

import (
	"context"
	_ "embed"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/skill"
)

//go:embed listDirectory.md
var listDirectoryText string

const listDirectorySchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "directory inside the workspace; its root if left out"},
		"offset": {"type": "integer", "minimum": 0, "description": "number of items to pass over"},
		"limit": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "number of items to return"}
	},
	"additionalProperties": false
}`

const (
	defaultItems = 500
	maxItems     = 1000
)

type listDirectoryArgs struct {
	Path   *string `json:"path"`
	Offset *int64  `json:"offset"`
	Limit  *int64  `json:"limit"`
}

// A listItem leaves size and time out for links whose target is out of reach.
type listItem struct {
	Name     string `json:"name"`
	Path     string `json:"path"`
	Type     string `json:"type"`
	Size     *int64 `json:"size,omitzero"`
	Modified string `json:"modified,omitzero"`
	Link     bool   `json:"link,omitzero"`
}

type listDirectoryBody struct {
	Path      string     `json:"path"`
	Items     []listItem `json:"items"`
	Total     int        `json:"total"`
	Offset    int64      `json:"offset,omitzero"`
	Truncated bool       `json:"truncated,omitzero"`
}

func (s *Skill) listDirectory() tool {
	return tool{
		Tool: skill.Tool{
			Name:        "listDirectory",
			Title:       "List directory",
			Description: strings.TrimSpace(listDirectoryText),
			InputSchema: jsontext.Value(listDirectorySchema),
			Repeatable:  true, // it only reads
			ReadOnly:    true,
		},
		run: s.runListDirectory,
	}
}

func (s *Skill) runListDirectory(ctx context.Context, call event.ToolCall) answer {
	args, err := decode[listDirectoryArgs](call.Args)
	if err != nil {
		return refuseError(err)
	}
	path := "."
	if args.Path != nil {
		path = *args.Path
	}
	offset, err := natural("offset", args.Offset, 0)
	if err != nil {
		return refuseError(err)
	}
	limit, err := natural("limit", args.Limit, defaultItems)
	if err != nil {
		return refuseError(err)
	}
	if limit < 1 || limit > maxItems {
		return refuseError(wrong("limit", "must be between 1 and 1000"))
	}
	// No directory has so many entries; an int may have 32 bits.
	begin := int(min(offset, 1<<30))
	listing, err := s.opts.Workspace.ReadDir(ctx, path, begin, int(limit))
	if err != nil {
		return refuseError(err)
	}
	body := listDirectoryBody{
		Path:      clean(listing.Path),
		Items:     []listItem{},
		Total:     listing.Total,
		Offset:    offset,
		Truncated: begin < listing.Total-int(limit),
	}
	for _, e := range listing.Entries {
		item := listItem{Name: clean(e.Name), Path: clean(e.Name), Type: "file", Link: e.Link}
		if e.Dir {
			item.Type = "directory"
		}
		if !e.Modified.IsZero() {
			item.Size = &e.Size
			item.Modified = e.Modified.UTC().Format(timeFormat)
		}
		body.Items = append(body.Items, item)
	}
	return answer{body: body}
}

// timeFormat is ISO 8601 with milliseconds, as everywhere in our JSON.
const timeFormat = "2006-01-02T15:04:05.000Z07:00"
