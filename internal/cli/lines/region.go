package lines

import (
	"fmt"
	"io"
	"strings"
)

// A region is the last lines on a terminal, which are drawn again and again below what stays.
//
// The cursor waits at the beginning of its first line. So erasing needs no count of lines: everything
// from the cursor on is the region, even after the terminal was made narrower and has broken its lines.
// The one mode that drawing changes is set again within the same write, so there is nothing to restore.
type region struct {
	w     io.Writer
	shown string // the frame on the screen; empty if there is none
}

const (
	eraseBelow = "\r\x1b[J"
	eraseRest  = "\x1b[K"
	cutLines   = "\x1b[?7l"
	breakLines = "\x1b[?7h"
)

// draw writes whole lines that stay, and then the region. It writes once, so that nothing is seen in
// between.
func (r *region) draw(text string, lines []string) error {
	frame := compose(lines)
	if text == "" && frame == r.shown {
		return nil
	}
	out := frame // it covers a frame that is there
	if r.shown != "" && (text != "" || frame == "") {
		out = eraseBelow + text + frame
	} else if text != "" {
		out = text + frame
	}
	r.shown = frame
	_, err := io.WriteString(r.w, out)
	return err
}

// compose returns what draws lines over those that are there, and brings the cursor back. The terminal
// cuts lines meanwhile: if it became narrower after its size was asked, it would break them, and the
// cursor would come back too far below.
func compose(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	frame := cutLines + strings.Join(lines, eraseRest+"\r\n") + breakLines + "\x1b[J\r"
	if up := len(lines) - 1; up > 0 {
		frame += fmt.Sprintf("\x1b[%dA", up)
	}
	return frame
}
