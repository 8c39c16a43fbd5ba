package log

import (
	"bufio"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/internal/cli/lines"
	"github.com/perstack-go/perstack/internal/columns"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/wording"
)

// printTree shows the Runs of a job as a tree, or one JSON object a Run, in the same order.
func (v *survey) printTree(w *bufio.Writer) error {
	v.tree.settle(v.status())
	head, checkpoint := v.headRun()
	if v.opts.JSON {
		out := event.NewWriter(w)
		for at := range spots(v.roots(), 0) {
			at.node.Head = at.node.RunID == head
			if err := writeJSON(out, at.node.runLine); err != nil {
				return err
			}
		}
		return nil
	}
	p := &printer{w: w}
	v.printJob(p)
	d := drawing{printer: p, head: head, width: v.opts.Host.Width, levels: maxLevels}
	if d.width > 0 {
		d.levels = min(maxLevels, max(min(2, d.width/15), (d.width-narrowest)/levelWidth))
	}
	for at := range spots(v.roots(), d.levels) {
		d.run(at)
	}
	p.blank()
	switch {
	case head == "":
	case checkpoint == "" && v.status() == string(event.JobRunning):
		p.field("Head", "run "+head+", which is under way")
	case checkpoint == "":
		p.field("Head", "run "+head+", which was interrupted")
	default:
		p.field("Head", "checkpoint "+checkpoint+" of run "+head)
	}
	hint := fmt.Sprintf("%s log %s --run <run> explains one run", v.opts.command(), v.jobID)
	if v.info.Imported == nil { // an imported job is not resumed
		hint += "; its checkpoints are for --resume-from"
	}
	p.line(hint)
	return nil
}

// roots are the Runs that the drawing begins with.
func (v *survey) roots() []*node {
	if v.opts.Run == "" {
		return v.tree.roots
	}
	if n := v.tree.runs[v.opts.Run]; n != nil {
		alone := *n
		alone.after = nil // what came after it is not below it
		return []*node{&alone}
	}
	return nil
}

// headRun returns the Run that --continue continues, and the checkpoint; that
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

const (
	// maxLevels bounds the indentation. Ten thousand Runs, each below the one before,
	// would else take gigabytes of blanks.
	maxLevels  = 16
	levelWidth = 3  // columns
	narrowest  = 50 // columns that stay free for text
	narrow     = 8  // columns that text gets on a tiny terminal
)

// A drawing is a tree on its way to the screen.
type drawing struct {
	*printer
	head   string
	width  int // columns; 0 when there is no terminal
	levels int // that are indented
}

// A spot is a Run in the drawing: what is before its first line, before a second one, and
// before remarks.
type spot struct {
	node               *node
	level              int
	first, next, below string
}

// spots yields the Runs from top to bottom. Only so many levels are indented. It does not
// call itself: a journal can nest as deep as it likes.
func spots(roots []*node, levels int) iter.Seq[spot] {
	type shelf struct { // Runs side by side that are still to come, the next one last
		nodes  []*node
		indent string
	}
	return func(yield func(spot) bool) {
		shelves := []*shelf{{nodes: reversed(roots)}}
		for len(shelves) > 0 {
			level := len(shelves) - 1
			top := shelves[level]
			last := len(top.nodes) - 1
			if last < 0 {
				shelves = shelves[:level]
				continue
			}
			n := top.nodes[last]
			top.nodes = append(top.nodes[:last], reversed(n.after)...)
			mark, under, stem := "", "", "   "
			switch {
			case level > 0 && len(top.nodes) == 0:
				mark, under = "└─ ", "   "
			case level > 0:
				mark, under = "├─ ", "│  "
			}
			if len(n.below) > 0 {
				stem = "│  "
			}
			rest := top.indent + under
			if !yield(spot{n, level, top.indent + mark, rest, rest + stem + "  "}) {
				return
			}
			if level >= levels {
				rest = top.indent
			}
			shelves = append(shelves, &shelf{reversed(n.below), rest})
		}
	}
}

// reversed returns nodes from last to first.
func reversed(nodes []*node) []*node {
	nodes = slices.Clone(nodes)
	slices.Reverse(nodes)
	return nodes
}

// run draws a Run. What does not fit on its line is below: how it came to be, why it
// ended, what it was asked. The id is never cut, since --run wants all of it.
func (d *drawing) run(at spot) {
	n := at.node
	line := terminal.CleanLine(n.ExpertKey) + "  " + terminal.CleanLine(n.RunID)
	if n.RunID == d.head {
		line += " (head)"
	}
	var remarks []string
	status := n.Status + ", " + wording.Count(n.Steps, "step") + ", " + wording.Count(n.Usage.TotalTokens, "token")
	if d.fits(at.next + line + "  " + status) {
		line += "  " + status
	} else {
		remarks = columns.Wrap(status, max(d.width-len([]rune(at.below)), narrow))
	}
	label := n.label(at.level, d.levels)
	if label == "" || d.fits(at.first+label+line) {
		line = at.first + label + line
	} else {
		d.write(at.first + strings.TrimSuffix(label, " → ") + ":\n")
		line = at.next + line
	}
	if n.hung == byCall && n.From != nil {
		remarks = append(remarks, fmt.Sprintf("from %s of run %s", n.from(), terminal.CleanLine(n.From.RunID)))
	}
	if n.Reason != "" {
		remarks = append(remarks, "("+lines.Cut(terminal.CleanLine(n.Reason), reasonCut)+")")
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

func (d *drawing) fits(line string) bool {
	return d.width == 0 || len([]rune(line)) <= d.width
}

// query cuts a query to what fits after line, or if that is little, below it.
func (d *drawing) query(text, line string, at spot) string {
	const marks, least = 4, 20 // columns: two blanks and the quotation marks; what is worth a look
	if d.width == 0 {
		return columns.Shorten(text, queryCut)
	}
	free := d.width - len([]rune(line)) - marks
	if free < least {
		free = max(d.width-len([]rune(at.below))-marks, narrow)
	}
	return columns.Shorten(text, min(free, queryCut))
}

// label says how a Run came to be, where the drawing alone does not.
func (n *node) label(level, levels int) string {
	label := ""
	if level > levels {
		label = fmt.Sprintf("[level %d] ", level)
	}
	switch {
	case level == 0:
	case n.hung == byCall && n.callStep == 0:
		label += "delegated → " // the journal does not have the turn
	case n.hung == byCall:
		label += fmt.Sprintf("step %d → ", n.callStep)
	case n.hung == byBranch:
		label += "from " + n.from() + " → "
	case n.hung == inARow:
		label += "then → "
	}
	return label
}

func (n *node) from() string {
	return fmt.Sprintf("step %d, checkpoint %s", n.originStep, terminal.CleanLine(n.From.CheckpointID))
}

// reasonCut bounds what is shown of a failure, in characters.
const reasonCut = 40
