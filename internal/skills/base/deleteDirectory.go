package base

import "context"

type deleteDirectoryArgs struct {
	Path      string `json:"path" jsonschema:"directory inside the workspace, not its root"`
	Recursive bool   `json:"recursive,omitzero" jsonschema:"whether to delete what is in it, too"`
}

var _ = tools.add(define("deleteDirectory", (*Skill).deleteDirectory)) // a second run may find another directory of that name

func (s *Skill) deleteDirectory(ctx context.Context, args deleteDirectoryArgs) answer {
	removed, err := s.opts.Workspace.RemoveDir(ctx, args.Path, args.Recursive)
	if err != nil {
		return refuseError(err)
	}
	return answer{body: pathBody{clean(removed)}}
}
