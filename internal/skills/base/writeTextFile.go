package base

import "context"

type writeTextFileArgs struct {
	Path string `json:"path" jsonschema:"file inside the workspace"`
	Text string `json:"text" jsonschema:"the whole content of the file"`
}

var _ = tools.add(define("writeTextFile", (*Skill).writeTextFile)) // a second run undoes what the user wrote there since

func (s *Skill) writeTextFile(ctx context.Context, args writeTextFileArgs) answer {
	info, err := s.opts.Workspace.WriteFile(ctx, args.Path, []byte(args.Text))
	if err != nil {
		return refuseError(err)
	}
	// The text is not sent back: the model has just written it.
	return answer{body: struct {
		Path  string `json:"path"`
		Bytes int    `json:"bytes"`
	}{clean(info.Path), len(args.Text)}}
}
