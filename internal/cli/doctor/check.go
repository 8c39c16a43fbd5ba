package doctor

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/terminal"
)

// A Status is the result of a check.
type Status string

// The results. Only fail changes the exit code.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
	Info Status = "info"
)

// A Check is one thing that was looked at.
type Check struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status Status `json:"status"`
	Detail string `json:"detail,omitzero"`
	Fix    string `json:"fix,omitzero"` // what the user can do
}

// A report is what --json prints.
type report struct {
	Version int     `json:"version"`
	OK      bool    `json:"ok"`
	Checks  []Check `json:"checks"`
}

// A task makes the checks of one subject. It must end soon after its context.
type task struct {
	id, title string
	run       func(context.Context) []Check
}

// conduct runs all tasks at once and yields their checks in the order of the tasks, each group as
// soon as it and those before it are known. A task that takes longer than the limit fails; it is
// not waited for.
func conduct(ctx context.Context, tasks []task, limit time.Duration) iter.Seq[[]Check] {
	results := make([]chan []Check, len(tasks))
	for i, t := range tasks {
		results[i] = make(chan []Check, 1)
		go func() { results[i] <- t.within(ctx, limit) }()
	}
	return func(yield func([]Check) bool) {
		for _, r := range results {
			if !yield(<-r) {
				return
			}
		}
	}
}

func (t task) within(ctx context.Context, limit time.Duration) []Check {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	done := make(chan []Check, 1)
	go func() { done <- t.run(ctx) }()
	select {
	case checks := <-done:
		if ctx.Err() == nil { // else a part may be missing
			return checks
		}
	case <-ctx.Done():
	}
	return []Check{{ID: t.id, Title: t.title, Status: Fail, Detail: fmt.Sprintf("there was no answer within %s", limit)}}
}

// clean makes a check safe to show: it can repeat what files and other programs say.
func clean(h *host.Host, c Check) Check {
	for _, text := range []*string{&c.ID, &c.Title, &c.Detail, &c.Fix} {
		*text = terminal.CleanLine(h.Secrets.Redact(*text))
	}
	return c
}

func count(checks []Check, s Status) (n int) {
	for _, c := range checks {
		if c.Status == s {
			n++
		}
	}
	return n
}
