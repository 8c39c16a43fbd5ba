package base

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/schema"
	"github.com/perstack-go/perstack/internal/workspace"
)

type globArgs struct {
	Pattern string  `json:"pattern" minLength:"1" jsonschema:"pattern of the paths, such as **/*.go"`
	Path    *string `json:"path,omitzero" jsonschema:"directory inside the workspace; its root if left out"`
	Ignored bool    `json:"ignored,omitzero" jsonschema:"whether to include what .gitignore files exclude"`
	Limit   *int    `json:"limit,omitzero" minimum:"1" maximum:"1000" jsonschema:"number of paths to return"`
}

const (
	defaultPaths = 500
	searchTime   = 10 * time.Second
	searchBytes  = 64 << 10 // of paths and lines in one result
)

var _ = tools.add(define("glob", (*Skill).glob, readOnly))

type globBody struct {
	Path      string   `json:"path"`
	Files     []string `json:"files"`
	Truncated bool     `json:"truncated,omitzero"`
	Reason    string   `json:"reason,omitzero"`
}

func (s *Skill) glob(ctx context.Context, args globArgs) answer {
	selects, err := workspace.ParseGlob(args.Pattern)
	if err != nil {
		return refuseError(&schema.Error{Field: "pattern", Problem: err.Error()})
	}
	path, limit := valueOr(args.Path, "."), valueOr(args.Limit, defaultPaths)
	dir, err := s.opts.Workspace.OpenDir(ctx, path)
	if err != nil {
		return refuseError(err)
	}
	dir.Close()
	body := globBody{Path: clean(dir.Path), Files: []string{}}
	size, full := 0, ""
	body.Reason, err = s.find(ctx, path, args.Ignored, func(_ context.Context, f workspace.Found) bool {
		if !selects.Match(f.Below, f.Dir) {
			return true
		}
		shown := clean(f.Path)
		if f.Dir {
			shown += "/"
		}
		if full = isFull(len(body.Files), limit, size+len(shown)); full != "" {
			return false
		}
		body.Files = append(body.Files, shown)
		size += len(shown)
		return true
	})
	if err != nil {
		return refuseError(err)
	}
	// A slash at the beginning means the directory, so that only a search can tell.
	if len(body.Files) == 0 && strings.HasPrefix(args.Pattern, s.opts.Workspace.Path()+"/") {
		return refuseError(&schema.Error{Field: "pattern", Problem: "cannot be an absolute path: it starts at the directory path"})
	}
	if full != "" {
		body.Reason = full
	}
	body.Truncated = body.Reason != ""
	return answer{body: body}
}

// isFull says which limit of a result keeps one more from being added; "" for none.
func isFull(count, limit, size int) string {
	switch {
	case count == limit:
		return fmt.Sprintf("the limit of %d is reached; narrow the search or raise it", limit)
	case size > searchBytes:
		return fmt.Sprintf("the result is longer than %d bytes; narrow the search", searchBytes)
	}
	return ""
}

// find visits what is below a path, for a limited time. It returns why something was left out.
func (s *Skill) find(ctx context.Context, path string, ignored bool, visit func(context.Context, workspace.Found) bool) (leftOut string, err error) {
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	leftOut, err = s.opts.Workspace.Find(limited, path, ignored, func(f workspace.Found) bool {
		return visit(limited, f)
	})
	switch {
	case ctx.Err() != nil: // what was found so far would look complete
		return "", &workspace.Error{Code: workspace.Interrupted, Message: "the search was interrupted"}
	case limited.Err() != nil:
		return fmt.Sprintf("the search took longer than %v; narrow it", searchTime), nil
	}
	return leftOut, err
}
