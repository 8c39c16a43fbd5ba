package event

// A Live is what models are saying at this moment, Run by Run: delegates work side by
// side, and the words of one are not those of another. It is fed with the same events as
// a [Timeline], which shows what is over. The zero Live is ready for use, by one goroutine.
type Live struct {
	runs map[string]*liveText
}

// Streaming is what streams in one Run.
type Streaming struct {
	Reasoning         string
	IsReasoningActive bool
	RunResult         string
	IsRunResultActive bool
}

// liveText collects fragments, so that a long text is not copied for each of them.
type liveText struct {
	reasoning, result             []byte
	reasoningActive, resultActive bool
}

// Apply takes in what e says of a stream. The end of a Run, or of a stretch of it, clears
// what streamed there, and nothing else: a delegate that is done does not wipe away what
// its parent or its siblings say.
func (l *Live) Apply(e Event) {
	if e.Body == nil {
		return
	}
	switch b := e.Body.(type) {
	case StartStreamingReasoning:
		t := l.at(e.RunID)
		*t = liveText{reasoningActive: true}
	case StreamReasoning:
		t := l.at(e.RunID)
		t.reasoning = append(t.reasoning, b.Delta...)
	case CompleteStreamingReasoning:
		t := l.at(e.RunID)
		t.reasoning, t.reasoningActive = []byte(b.Text), false
	case StartStreamingRunResult:
		t := l.at(e.RunID)
		*t = liveText{resultActive: true}
	case StreamRunResult:
		t := l.at(e.RunID)
		t.result = append(t.result, b.Delta...)
	case CompleteStreamingRunResult:
		t := l.at(e.RunID)
		t.result, t.resultActive = []byte(b.Text), false
	default:
		if e.IsTerminal() {
			delete(l.runs, e.RunID)
		}
	}
}

func (l *Live) at(runID string) *liveText {
	if l.runs == nil {
		l.runs = make(map[string]*liveText)
	}
	if l.runs[runID] == nil {
		l.runs[runID] = &liveText{}
	}
	return l.runs[runID]
}

// Of returns what streams in a Run: nothing, as a rule.
func (l *Live) Of(runID string) Streaming {
	t := l.runs[runID]
	if t == nil {
		return Streaming{}
	}
	return Streaming{string(t.reasoning), t.reasoningActive, string(t.result), t.resultActive}
}
