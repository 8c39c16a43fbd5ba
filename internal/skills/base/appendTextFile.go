package base

import "context"

type appendTextFileArgs struct {
	Path string `json:"path" jsonschema:"existing file inside the workspace"`
	Text string `json:"text" jsonschema:"what to add at its end"`
}

var _ = tools.add(define("appendTextFile", (*Skill).appendTextFile)) // a second run adds the text again

func (s *Skill) appendTextFile(ctx context.Context, args appendTextFileArgs) answer {
	info, err := s.opts.Workspace.AppendFile(ctx, args.Path, []byte(args.Text))
	if err != nil {
		return refuseError(err)
	}
	return answer{body: struct {
		Path  string `json:"path"`
		Bytes int    `json:"bytes"`
		Size  int64  `json:"size"`
	}{clean(info.Path), len(args.Text), info.Size}}
}
