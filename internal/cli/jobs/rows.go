package jobs

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/history"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

const (
	// minQuery is how many columns of a query are worth a look. If a terminal has less space, the
	// lines are cut at its edge.
	minQuery = 12
	// queryInFile is how much of a query a file or a pipe gets.
	queryInFile = 60
)

// A row is a job in a table, and what is wrong with its seals.
type row struct {
	history.Entry
	seal error
}

// writeRows writes one line a job, below the titles of the columns. width is that of the terminal; 0
// if there is none. On a narrow one, some columns are left out.
func writeRows(w io.Writer, rows []row, now time.Time, width int) error {
	lines, err := table(rows, now, false)
	if err == nil && width > 0 && columns.Of(lines[0])+minQuery > width {
		lines, err = table(rows, now, true)
	}
	if err != nil {
		return err
	}
	for i, line := range lines {
		space := queryInFile
		if width > 0 {
			space = max(width-columns.Of(line), minQuery)
		}
		if i == 0 {
			line += "QUERY"
		} else {
			line += columns.Shorten(terminal.CleanLine(rows[i-1].Query()), space)
		}
		line = strings.TrimRight(line, " ")
		if width > 0 {
			line = columns.Shorten(line, width)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// table returns the lines of the table, without the queries.
func table(rows []row, now time.Time, narrow bool) ([]string, error) {
	var text strings.Builder
	out := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	write := func(job, expert, status, steps, cost, age string) {
		fields := []string{job, expert, status, steps, cost, age}
		if narrow {
			fields = []string{job, status, age}
		}
		for _, f := range fields {
			fmt.Fprint(out, cmp.Or(terminal.CleanLine(f), "-"), "\t")
		}
		fmt.Fprintln(out)
	}
	write("JOB", "EXPERT", "STATUS", "STEPS", "COST", "AGE")
	for _, r := range rows {
		steps, cost, changed := "", "", ""
		if r.Info.StartedAt > 0 {
			steps, cost, changed = strconv.Itoa(r.Info.TotalSteps), r.cost(), age(now.Sub(time.UnixMilli(r.Info.UpdatedAt)))
		}
		write(r.Prefix, r.Info.CoordinatorExpertKey, r.status(), steps, cost, changed)
	}
	err := out.Flush()
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n"), err
}

func (r row) status() string {
	status := string(r.Status())
	if r.Info.Imported != nil {
		status += " (imported)"
	}
	return status + history.SealNote(r.seal)
}

// cost returns what the job cost, by the prices that are known.
func (r row) cost() string {
	dollars, known := r.Cost()
	if !known {
		return "-"
	}
	return wording.Cost(dollars)
}

// age writes how long ago something was, in one unit.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return "now" // also if a clock was wrong
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d < 365*day:
		return fmt.Sprintf("%dd", d/day)
	}
	return fmt.Sprintf("%dy", d/(365*day))
}
