package plain

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/tui"
)

// TestPage compares what docs/start.md says about plain mode with what it does.
func TestPage(t *testing.T) {
	const page = "../../../docs/start.md"
	block := func(name, text string) {
		t.Helper()
		testkit.PageBlock(t, page, "./internal/tui/plain", name, text)
	}
	var table strings.Builder
	table.WriteString("| command | what |\n|---|---|\n")
	for _, c := range Commands() {
		fmt.Fprintf(&table, "| `%s` | %s |\n", strings.TrimSpace("/"+c.Name+" "+c.Args), c.Help)
	}
	block("commands", table.String())
	bubble(t, func(t *testing.T) {
		c := start(t, Options{Project: trip(), Why: "TERM is dumb", Terminal: true})
		c.enter("1", "What is new?", "/quit")
		block("conversation", "```\n"+c.wait()+"```\n")
	})
	bubble(t, func(t *testing.T) {
		p := trip()
		p.run = func(ctx context.Context, _ tui.Task, ask tui.Asker, tell func(event.Body)) error {
			request := approvalOf("rm", "-r", "old drafts")
			request.Approval.Said = ""
			_, err := ask.Ask(ctx, request)
			tell(complete("The drafts are gone."))
			return err
		}
		c := start(t, Options{Project: p, Expert: "lead", Query: "Tidy up", Terminal: true, Width: 80})
		c.enter("allow", "") // a line with others does not count, so the second one comes later
		_, out, _ := strings.Cut(c.end(), "<bell>")
		out, _, _ = strings.Cut(out, "Done:")
		block("approval", "```\n"+out+"```\n")
	})
}
