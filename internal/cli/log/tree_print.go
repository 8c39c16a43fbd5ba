package log

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/store"
)

// drawTree shows the Runs of a job as a tree, or one JSON object a Run, in the same order.
func drawTree(ctx context.Context, opts *Options, s store.Store, jobID string) error {
	v, err := look(ctx, opts, s, jobID)
	if err != nil {
		return err
	}
	if v.last == 0 {
		return v.end(opts)
	}
	v.tree.settle(v.status())
	out := bufio.NewWriter(opts.Host.Stdout)
	if opts.JSON {
		err = v.writeTree(opts, out)
	} else {
		p := &printer{w: out}
		v.printJob(p, opts)
		v.printTree(p, opts)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = v.end(opts)
	}
	return err
}

// roots are the Runs that the drawing begins with.
func (v *survey) roots(opts *Options) []*node {
	if opts.Run == "" {
		return v.tree.roots
	}
	if n := v.tree.node(opts.Run); n != nil {
		alone := *n
		alone.after = nil // what came after it is not below it
		return []*node{&alone}
	}
	return nil
}

// headRun returns the Run that continuing the job goes on from, and the checkpoint; that
// of a Run which is still open is not written yet.
func (v *survey) headRun() (runID, checkpointID string) {
	for _, s := range v.history.Open() {
		if s.DelegatedBy == nil {
			return s.RunID, ""
		}
	}
	point, ok := v.history.Head()
	if !ok {
		return "", ""
	}
	return point.State.RunID, point.State.CheckpointID
}

func (v *survey) printTree(p *printer, opts *Options) {
	d := drawing{printer: p, width: opts.Host.Width, levels: maxLevels}
	if d.width > 0 {
		d.levels = min(maxLevels, max(2, (d.width-narrowest)/levelWidth))
	}
	var checkpoint string
	d.head, checkpoint = v.headRun()
	d.draw(v.roots(opts))
	p.blank()
	switch {
	case d.head == "":
	case checkpoint == "" && v.status() == string(event.JobRunning):
		p.field("Head", "run "+d.head+", which is under way")
	case checkpoint == "":
		p.field("Head", "run "+d.head+", which was interrupted")
	default:
		p.field("Head", "checkpoint "+checkpoint+" of run "+d.head)
	}
	p.line(fmt.Sprintf("%s log %s --run <run> explains one run; its checkpoints are for --resume-from", opts.command(), v.history.Job.ID))
}

const (
	// maxLevels bounds the indentation. Ten thousand Runs, each below the one before,
	// would else take gigabytes of blanks.
	maxLevels  = 16
	levelWidth = 3  // columns
	narrowest  = 50 // columns that stay free for text
)

// A drawing is a tree on its way to the screen.
type drawing struct {
	*printer
	head   string
	width  int // columns; 0 when there is no terminal
	levels int // that are indented
}

// A shelf is the Runs that hang side by side.
type shelf struct {
	nodes  []*node
	next   int
	indent string
}

// draw does not call itself: a journal may nest as deep as it likes.
func (d *drawing) draw(roots []*node) {
	shelves := []*shelf{{nodes: inRow(roots)}}
	for len(shelves) > 0 {
		level := len(shelves) - 1
		top := shelves[level]
		if top.next == len(top.nodes) {
			shelves = shelves[:level]
			continue
		}
		n := top.nodes[top.next]
		top.next++
		mark, under := "", ""
		if level > 0 {
			mark, under = "├─ ", "│  "
			if top.next == len(top.nodes) {
				mark, under = "└─ ", "   "
			}
		}
		rest := top.indent + under
		stem := "   "
		if len(n.below) > 0 {
			stem = "│  "
		}
		d.run(n, level, place{first: top.indent + mark, next: rest, below: rest + stem + "  "})
		if len(n.below) == 0 {
			continue
		}
		if level >= d.levels {
			rest = top.indent
		}
		shelves = append(shelves, &shelf{nodes: inRow(n.below), indent: rest})
	}
}

// inRow puts the Runs that went on where another had ended behind it.
func inRow(nodes []*node) []*node {
	var row, rest []*node
	for i := len(nodes) - 1; i >= 0; i-- {
		rest = append(rest, nodes[i])
	}
	for len(rest) > 0 {
		n := rest[len(rest)-1]
		rest = rest[:len(rest)-1]
		row = append(row, n)
		for i := len(n.after) - 1; i >= 0; i-- {
			rest = append(rest, n.after[i])
		}
	}
	return row
}

// run draws a Run. What does not fit on its line stands below: how it came to be, why it
// ended, what it was asked. The id is never cut, since --run wants all of it.
func (d *drawing) run(n *node, level int, at place) {
	line := terminal.CleanLine(n.expertKey) + "  " + terminal.CleanLine(n.id)
	if n.id == d.head {
		line += " (head)"
	}
	line += "  " + n.status + ", " + plural(n.steps, "step") + ", " + plural(n.usage.TotalTokens, "token")
	label := n.label(level, d.levels)
	if label == "" || d.fits(at.first+label+line) {
		line = at.first + label + line
	} else {
		d.write(at.first + strings.TrimSuffix(label, " → ") + ":\n")
		line = at.next + line
	}
	var remarks []string
	if n.hung == byCall && n.origin != nil {
		remarks = append(remarks, fmt.Sprintf("from %s of run %s", n.from(), terminal.CleanLine(n.origin.RunID)))
	}
	if n.reason != "" {
		remarks = append(remarks, "("+lines.Cut(terminal.CleanLine(n.reason), reasonCut)+")")
	}
	if n.query != "" {
		remarks = append(remarks, `"`+d.query(n.query, line, at)+`"`)
	}
	for _, r := range remarks {
		if d.fits(line + "  " + r) {
			line += "  " + r
			continue
		}
		d.write(line + "\n")
		line = at.below + r
	}
	d.write(line + "\n")
}

// A place is where on the screen a Run is drawn: what stands before its first line, before
// a second one, and before remarks.
type place struct{ first, next, below string }

func (d *drawing) fits(line string) bool {
	return d.width == 0 || len([]rune(line)) <= d.width
}

// query cuts a query to what fits behind line, or if that is little, below it.
func (d *drawing) query(text, line string, at place) string {
	const marks, least = 4, 20 // columns: two blanks and the quotation marks; what is worth a look
	if d.width == 0 {
		return lines.Shorten(text, queryCut)
	}
	room := d.width - len([]rune(line)) - marks
	if room < least {
		room = max(d.width-len([]rune(at.below))-marks, least)
	}
	return lines.Shorten(text, min(room, queryCut))
}

// label says how a Run came to be, where the drawing alone does not.
func (n *node) label(level, levels int) string {
	label := ""
	if level > levels {
		label = fmt.Sprintf("[level %d] ", level)
	}
	switch {
	case n.hung == byCall && level > 0:
		if n.callStep == 0 {
			return label + "delegated → " // the journal does not have the turn
		}
		return label + fmt.Sprintf("step %d → ", n.callStep)
	case n.hung == byBranch && level > 0:
		return label + "from " + n.from() + " → "
	case n.hung == behind && level > 0:
		return label + "then → "
	}
	return label
}

func (n *node) from() string {
	return fmt.Sprintf("step %d, checkpoint %s", n.originStep, terminal.CleanLine(n.origin.CheckpointID))
}

// reasonCut bounds what is shown of a failure, in characters.
const reasonCut = 40

// plural counts things: "1 step", "2 steps".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
