package base

import "context"

type listDirectoryArgs struct {
	Path   *string `json:"path,omitzero" jsonschema:"directory inside the workspace; its root if left out"`
	Offset int64   `json:"offset,omitzero" minimum:"0" jsonschema:"number of items to pass over"`
	Limit  *int    `json:"limit,omitzero" minimum:"1" maximum:"1000" jsonschema:"number of items to return"`
}

const defaultItems = 500

var _ = tools.add(define("listDirectory", (*Skill).listDirectory, readOnly))

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

func (s *Skill) listDirectory(ctx context.Context, args listDirectoryArgs) answer {
	path, limit := valueOr(args.Path, "."), valueOr(args.Limit, defaultItems)
	// No directory has so many entries; an int may have 32 bits.
	begin := int(min(args.Offset, 1<<30))
	listing, err := s.opts.Workspace.ReadDir(ctx, path, begin, limit)
	if err != nil {
		return refuseError(err)
	}
	body := listDirectoryBody{
		Path:      clean(listing.Path),
		Items:     []listItem{},
		Total:     listing.Total,
		Offset:    args.Offset,
		Truncated: begin < listing.Total-limit,
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
