package lines

import (
	"cmp"
	"strings"

	"github.com/perstack-go/perstack/internal/narrate"
)

// This file says what is running where lines cannot be drawn again: a call that takes its time gets a
// dim line when it starts, more while it prints, and its row when it ends.

const (
	firstGap = 1_000  // ms before the first note of a call is shown: quick ones stay quiet
	maxGap   = 30_000 // ms; the gap doubles from note to note up to this
)

// A watch says when the next note about something is due. It goes by the times of events,
// so that the same events always print the same.
type watch struct{ last, gap int64 }

func (w *watch) isDue(at int64) bool {
	if at-w.last < w.gap {
		return false
	}
	w.last, w.gap = at, min(2*w.gap, maxGap)
	return true
}

// running says that a call has started, or what it reports. A command can print for hours,
// so notes come at growing distances; --verbose shows all of them.
func (p *Printer) running(r narrate.Row) {
	w := p.watches[r.ID]
	if w == nil {
		w = &watch{r.At, firstGap}
		p.watches[r.ID] = w
	}
	switch {
	case r.Tail != "":
		if w.isDue(r.At) || p.opts.Verbose {
			p.dim(p.enter(r), "  │ "+r.Tail)
		}
	case r.Slow:
		p.starting(r, r.Label)
	}
}

// starting says what is started. A command is wrapped, anything else cut to the width.
func (p *Printer) starting(r narrate.Row, name string) {
	at := p.enter(r)
	if len(r.Argv) == 0 {
		p.dim(at, strings.TrimSpace("… "+name+" "+cmp.Or(r.Tail, r.Summary)))
		return
	}
	margin := p.margin(at)
	for _, l := range p.wrapped(p.hide(at.tag+"… "+name)+" "+p.command(r), len(margin)) {
		p.out.WriteString(margin + p.paint(dim, l) + "\n")
	}
}

// progress prints how far the image of a run is; nothing if the image exists already. It prints a line
// when the work begins, more when it takes its time, and one when it is done.
func (p *Printer) progress(r narrate.Row) {
	text := "… image: " + r.Tail
	switch {
	case r.State == narrate.Done:
		if p.making {
			p.dim(place{}, text)
		}
		p.making = false
	case p.opts.Live:
		p.making = true
	case !p.making, r.Progress == nil: // a step with a name, of which there are few
		p.making, p.image = true, watch{r.At, firstGap}
		p.dim(place{}, text)
	case p.image.isDue(r.At):
		p.dim(place{}, text)
	}
}
