package progress

import (
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/event"
)

// This file shows how far an image is that is made before a run. It takes a second or two,
// as a rule, and mostly the image is there already: then nothing is shown.
//
// On a terminal it is one line with a bar, the only thing that is ever drawn again. What
// comes after it takes its place. Elsewhere it is a line when the work begins, more when
// it takes its time, and one when it is done.

// An imageView is what was shown of the image that is made.
type imageView struct {
	told  bool  // something
	watch watch // when the next line is due, without a terminal
}

// eraseLine goes back to the start of the line and clears it.
const eraseLine = "\r\x1b[2K"

const barColumns = 20

// image prints what e says about the making of an image. What it returns is a line to be
// drawn again, so without an end.
func (p *Printer) image(e event.Event) (bar string) {
	b, ok := e.Body.(event.DockerBuildProgress)
	if !ok || p.opts.Verbose || b.Stage == "error" {
		return "" // there are rows for it
	}
	const lead = "… image: "
	switch {
	case b.Stage == "complete":
		if p.making.told {
			p.title(place{}, lead+b.Message)
		}
		p.making = imageView{}
	case p.opts.Color && p.opts.Width > 0: // a terminal that understands more than lines
		p.making.told = true
		return p.bar(b)
	case !p.making.told, b.Progress == nil: // a step with a name, of which there are few
		p.making = imageView{true, watch{e.Timestamp, firstGap}}
		p.title(place{}, lead+b.Message)
	case e.Timestamp-p.making.watch.last >= p.making.watch.gap:
		p.making.watch = watch{e.Timestamp, min(2*p.making.watch.gap, maxGap)}
		p.title(place{}, lead+b.Message)
	}
	return ""
}

// bar draws how much is done.
func (p *Printer) bar(b event.DockerBuildProgress) string {
	text := "… image "
	if b.Progress != nil {
		part := 0.0
		if v := *b.Progress; v > 0 { // written so that NaN counts as nothing
			part = min(v, 1)
		}
		full := int(part * barColumns)
		text += fmt.Sprintf("[%s%s] %3d%% ", strings.Repeat("█", full), strings.Repeat("░", barColumns-full), int(part*100))
	}
	// A line that reached the last column would be wrapped, and could not be erased.
	return p.paint(dim, p.fit(p.hide(text+b.Message), 1))
}
