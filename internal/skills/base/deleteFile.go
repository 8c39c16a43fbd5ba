package base

import "context"

type deleteFileArgs struct {
	Path string `json:"path" jsonschema:"file inside the workspace"`
}

var _ = tools.add(define("deleteFile", (*Skill).deleteFile)) // a second run may find another file of that name

func (s *Skill) deleteFile(ctx context.Context, args deleteFileArgs) answer {
	removed, err := s.opts.Workspace.RemoveFile(ctx, args.Path)
	if err != nil {
		return refuseError(err)
	}
	return answer{body: pathBody{clean(removed)}}
}
