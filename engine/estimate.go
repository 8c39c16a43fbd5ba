package engine

import (
	"slices"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/model"
)

const (
	// bytesPerToken is less than in most texts, so that an estimate is rather too high.
	bytesPerToken = 3
	// imageBytes is what an image counts, whatever its size: providers scale images.
	imageBytes = 1600 * bytesPerToken
	// fileDivisor is the part of a file's base64 text that counts. Most of a PDF is not text.
	fileDivisor = 8
)

// partsSize estimates how many bytes of text the parts of a message have in a request.
func partsSize(parts []event.Part) int {
	n := 0
	for _, p := range parts {
		// Signatures and provider data count because they are sent back.
		n += len(p.Text) + len(p.URL) + len(p.Thinking) + len(p.Args) + len(p.ToolName) + len(p.Signature) + len(p.ProviderData) + partsSize(p.Contents)
		switch p.Type {
		case event.ImageURLPart, event.ImageInlinePart, event.ImageBinaryPart:
			n += imageBytes
		case event.FileURLPart, event.FileInlinePart, event.FileBinaryPart:
			n += (len(p.EncodedData) + len(p.Data)) / fileDivisor
		}
	}
	return n
}

// estimate returns how many tokens the conversation will have in the next request: what the
// provider counted last time, and what was added since.
func (s State) estimate() int {
	return s.lastUsage.InputTokens + s.lastUsage.OutputTokens + s.unmeasured/bytesPerToken + 1
}

// estimate returns how many tokens a request will have. It adds the tools if no answer has
// counted them yet, and what is not in the conversation: the request for a final answer has
// results, and a reminder.
func (r *run) estimate(req *model.Request) int {
	bytes := 0
	measured := r.state.lastUsage.InputTokens > 0 && (r.estimatedVersion == 0 || r.estimatedVersion == r.toolsVersion+1)
	if !measured {
		for _, t := range req.Tools {
			bytes += len(t.Name) + len(t.Description) + len(t.InputSchema)
		}
	}
	r.estimatedVersion = r.toolsVersion + 1
	for _, m := range req.Messages[len(r.state.Messages()):] {
		bytes += partsSize(m.Contents)
	}
	return r.state.estimate() + bytes/bytesPerToken
}

const (
	// cutRatio is how much larger than what the provider counted the input must be. Estimates
	// are too high by less.
	cutRatio = 4
	// cutTokens is the least difference that matters.
	cutTokens = 1000
)

// warnOfCutInput warns, once in a Run, if the provider counted far fewer tokens than were
// sent: some servers cut a conversation that is longer than their context, without an error.
// A conversation only grows, so it has at least the tokens that were counted before.
func (r *run) warnOfCutInput(req *model.Request, answer *model.Answer, estimated int) error {
	sent, counted := estimated, answer.Usage.InputTokens
	if before := r.state.lastUsage.InputTokens; before > 0 {
		sent = before
	}
	if counted == 0 || counted*cutRatio > sent || sent-counted < cutTokens || !answer.CutsInput ||
		slices.Contains(r.state.warned, event.LimitInput) || slices.ContainsFunc(req.Messages, func(m *event.Message) bool { return hasMedia(m.Contents) }) {
		return nil
	}
	return r.record(event.LimitWarning{Limit: event.LimitInput, Used: float64(counted), Max: float64(sent)})
}

// hasMedia reports whether parts of a message hold what cannot be estimated.
func hasMedia(parts []event.Part) bool {
	return slices.ContainsFunc(parts, func(p event.Part) bool {
		switch p.Type {
		case event.TextPart, event.ThinkingPart, event.ToolCallPart, event.ToolResultPart, event.ProviderPart:
			return hasMedia(p.Contents)
		}
		return true
	})
}

// usageOrEstimate returns what an answer used, or an estimate if its provider does not say,
// so that limits hold for such providers too.
func usageOrEstimate(answer *model.Answer, input int) event.Usage {
	u := event.Usage{}.Add(answer.Usage)
	if u.TotalTokens = max(u.TotalTokens, u.InputTokens+u.OutputTokens); u.TotalTokens > 0 {
		return u
	}
	output := partsSize(answer.Parts)/bytesPerToken + 1
	return event.Usage{InputTokens: input, OutputTokens: output, TotalTokens: input + output}
}
