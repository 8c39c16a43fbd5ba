package lines

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/internal/narrate"
)

// This file shows how far an image is that is made before a run. It takes a second or two,
// as a rule, and mostly the image exists already: then nothing is shown.
//
// On a terminal it is one line with a bar, the only thing that is ever drawn again. What
// comes after it takes its place. Elsewhere it is a line when the work begins, more when
// it takes its time, and one when it is done.

// eraseLine goes back to the start of the line and clears it.
const eraseLine = "\r\x1b[2K"

const barColumns = 20

// progress prints how far an image is. What it returns is a line to be drawn again.
func (p *Printer) progress(r narrate.Row) (bar string) {
	text := "… image: " + r.Tail
	switch {
	case r.State == narrate.Done:
		if p.making {
			p.dim(place{}, text)
		}
		p.making = false
	case p.opts.Color && p.opts.Width > 0: // a terminal that understands more than lines
		p.making = true
		return p.bar(r)
	case !p.making, r.Progress == nil: // a step with a name, of which there are few
		p.making, p.image = true, watch{r.At, firstGap}
		p.dim(place{}, text)
	case p.image.isDue(r.At):
		p.dim(place{}, text)
	}
	return ""
}

// bar draws how much is done.
func (p *Printer) bar(r narrate.Row) string {
	text := "… image "
	if r.Progress != nil {
		part := 0.0
		if v := *r.Progress; v > 0 { // written so that NaN counts as nothing
			part = min(v, 1)
		}
		full := int(part * barColumns)
		text += fmt.Sprintf("[%s%s] %3d%% ", strings.Repeat("█", full), strings.Repeat("░", barColumns-full), int(part*100))
	}
	// A line that reached the last column would be wrapped, and could not be erased.
	return p.paint(dim, p.fit(p.hide(text+r.Tail), 1))
}
