package lines

import (
	"fmt"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/wording"
)

// A Summary is how a job ended, for its last line.
type Summary struct {
	Status event.Status
	Files  int    // that were changed
	Again  string // the command that shows the job
}

// outcome returns the words of the last line.
func outcome(s event.Status) (mark, words string, c colour) {
	switch s {
	case event.StatusCompleted:
		return "✓", "completed in", green
	case event.StatusStoppedByError:
		return "✗", "failed after", red
	case event.StatusStoppedByExceededMaxSteps, event.StatusStoppedByLimit:
		return "✗", "stopped by a limit after", yellow
	case event.StatusStoppedByInteractiveTool, event.StatusStoppedByApproval:
		return "○", "waiting for you after", yellow
	}
	return "✗", "stopped after", yellow
}

// Finish erases the region for good and prints the last line.
func (l *Live) Finish(s Summary) error {
	l.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resize()
	mark, words, c := outcome(s.Status)
	t := &l.totals
	parts := []string{words + " " + spanText(l.now()-l.began), wording.Count(t.Steps, "step")}
	if t.Tokens.Input+t.Tokens.Output > 0 {
		parts = append(parts, fmt.Sprintf("%s in, %s out", wording.Short(t.Tokens.Input), wording.Short(t.Tokens.Output)))
	}
	switch {
	case t.Cost > 0 && t.Unpriced:
		parts = append(parts, "more than "+wording.Cost(t.Cost))
	case t.Cost > 0:
		parts = append(parts, wording.Cost(t.Cost))
	}
	if s.Files > 0 {
		parts = append(parts, wording.Count(s.Files, "file")+" changed")
	}
	parts = append(parts, flat(s.Again))
	text := l.printer.paint(c, mark)
	used := 1
	for i, part := range parts {
		lead := " · "
		switch {
		case i == 0:
			lead = " "
		case used+3+columns.Of(part) > l.printer.opts.Width:
			lead, used = "\n  ", -1
		}
		text += lead + part
		used += len([]rune(lead)) + columns.Of(part)
	}
	l.show(text + "\n")
	return l.failure()
}
