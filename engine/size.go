package engine

import (
	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

const (
	// bytesPerToken is fewer than most texts have, so that an estimate is rather too high.
	bytesPerToken = 3
	// imageBytes is what an image counts, however many bytes it has: providers scale it.
	imageBytes = 1600 * bytesPerToken
	// fileShare is how much of a file's base64 text counts. Most of a PDF is no text.
	fileShare = 8
)

// size says how many bytes of text a message is worth in a request, roughly.
func size(m *event.Message) int {
	if m == nil {
		return 0
	}
	return sizeOf(m.Contents)
}

func sizeOf(parts []event.Part) int {
	n := 0
	for _, p := range parts {
		n += len(p.Text) + len(p.URL) + len(p.Thinking) + len(p.Args) + len(p.ToolName) + sizeOf(p.Contents)
		switch p.Type {
		case event.ImageURLPart, event.ImageInlinePart, event.ImageBinaryPart:
			n += imageBytes
		case event.FileURLPart, event.FileInlinePart, event.FileBinaryPart:
			n += (len(p.EncodedData) + len(p.Data)) / fileShare
		}
	}
	return n
}

// estimate says how many tokens the next request will have: what the provider counted last
// time, and what was said since. Before the first answer the tools have to be guessed, too.
func (s State) estimate(tools []model.Tool) int {
	bytes := s.Unmeasured
	if s.LastUsage.TotalTokens == 0 && s.LastUsage.InputTokens == 0 {
		for _, t := range tools {
			bytes += len(t.Name) + len(t.Description) + len(t.InputSchema)
		}
	}
	return s.LastUsage.InputTokens + s.LastUsage.OutputTokens + bytes/bytesPerToken + 1
}
