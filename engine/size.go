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
		// Marks are sent back as they came.
		n += len(p.Text) + len(p.URL) + len(p.Thinking) + len(p.Args) + len(p.ToolName) + len(p.Signature) + len(p.ProviderData) + sizeOf(p.Contents)
		switch p.Type {
		case event.ImageURLPart, event.ImageInlinePart, event.ImageBinaryPart:
			n += imageBytes
		case event.FileURLPart, event.FileInlinePart, event.FileBinaryPart:
			n += (len(p.EncodedData) + len(p.Data)) / fileShare
		}
	}
	return n
}

// estimate says how many tokens the conversation will have in the next request: what the
// provider counted last time, and what was said since.
func (s State) estimate() int {
	return s.LastUsage.InputTokens + s.LastUsage.OutputTokens + s.Unmeasured/bytesPerToken + 1
}

// estimate says how many tokens a request will have. Tools count when no answer has
// counted them yet, and so do the results that a final answer is asked for with.
func (r *run) estimate(req *model.Request, isResult bool) int {
	bytes := 0
	measured := r.state.LastUsage.InputTokens > 0 && (r.measuredVersion == 0 || r.measuredVersion == r.offeredVersion+1)
	if !measured {
		for _, t := range req.Tools {
			bytes += len(t.Name) + len(t.Description) + len(t.InputSchema)
		}
	}
	r.measuredVersion = r.offeredVersion + 1
	if isResult {
		bytes += size(req.Messages[len(req.Messages)-1])
	}
	return r.state.estimate() + bytes/bytesPerToken
}

// orEstimate is what an answer used, or what it must have used if its provider does not
// say: limits hold for those, too.
func orEstimate(answer *model.Answer, input int) event.Usage {
	u := event.Usage{}.Add(answer.Usage)
	if u.TotalTokens = max(u.TotalTokens, u.InputTokens+u.OutputTokens); u.TotalTokens > 0 {
		return u
	}
	output := sizeOf(answer.Parts)/bytesPerToken + 1
	return event.Usage{InputTokens: input, OutputTokens: output, TotalTokens: input + output}
}
