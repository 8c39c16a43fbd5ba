package base

import "context"

type createDirectoryArgs struct {
	Path string `json:"path" jsonschema:"directory inside the workspace"`
}

var _ = tools.add(define("createDirectory", (*Skill).createDirectory)) // a second run fails: the directory exists

func (s *Skill) createDirectory(ctx context.Context, args createDirectoryArgs) answer {
	made, err := s.opts.Workspace.MakeDir(ctx, args.Path)
	if err != nil {
		return refuseError(err)
	}
	return answer{body: pathBody{clean(made)}}
}
