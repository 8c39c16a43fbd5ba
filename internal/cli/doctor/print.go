package doctor

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/internal/wording"
)

// A printer writes checks as lines. A check has one line and, if there is something to do, a second
// one. Steps of the sandbox are indented.
type printer struct{ w io.Writer }

// titleColumns is the width of the longest usual title.
const titleColumns = 18

func mark(s Status) string {
	switch s {
	case OK:
		return "✓"
	case Warn:
		return "!"
	case Fail:
		return "✗"
	}
	return "-"
}

func (p *printer) begin() error {
	_, err := fmt.Fprintf(p.w, "perstack %s on %s/%s\n\n", version.String(), runtime.GOOS, runtime.GOARCH)
	return err
}

func (p *printer) check(c Check) error {
	indent := ""
	if strings.HasPrefix(c.ID, stepPrefix) {
		indent = "  "
	}
	line := fmt.Sprintf("%s%s %-*s %s", indent, mark(c.Status), titleColumns-len(indent), c.Title, c.Detail)
	text := strings.TrimRight(line, " ") + "\n"
	if c.Fix != "" {
		word := "fix: "
		if c.Status == OK || c.Status == Info {
			word = "to free it: "
		}
		text += strings.Repeat(" ", titleColumns+3) + word + c.Fix + "\n"
	}
	_, err := io.WriteString(p.w, text)
	return err
}

func (p *printer) end(failed, warned int) error {
	text := "No problems found."
	switch {
	case failed > 0:
		text = "Found " + wording.Count(failed, "problem")
		if warned > 0 {
			text += " and " + wording.Count(warned, "warning")
		}
		text += "."
	case warned > 0:
		text = "No problems found, " + wording.Count(warned, "warning") + "."
	}
	_, err := fmt.Fprintln(p.w, "\n"+text)
	return err
}
