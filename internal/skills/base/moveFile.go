package base

import "context"

type moveFileArgs struct {
	Source      string `json:"source" jsonschema:"file or directory inside the workspace"`
	Destination string `json:"destination" jsonschema:"its new path, where nothing may be yet"`
}

var _ = tools.add(define("moveFile", (*Skill).moveFile)) // a second run does not find the source

func (s *Skill) moveFile(ctx context.Context, args moveFileArgs) answer {
	from, to, err := s.opts.Workspace.Move(ctx, args.Source, args.Destination)
	if err != nil {
		return refuseError(err)
	}
	return answer{body: struct {
		Source      string `json:"source"`
		Destination string `json:"destination"`
	}{clean(from), clean(to)}}
}
