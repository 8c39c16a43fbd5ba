// Package guard keeps the terminal usable when the full-screen program is killed or crashes.
//
// On Unix, [Run] starts this program a second time, in the same process group. The second process
// runs the full-screen program; the first is its guard. The guard has saved the settings of the
// terminal. If the other process ends without having left the screen, the guard leaves it: it
// switches off what a full-screen program switches on, restores the settings and says what happened.
// If the program ends in order, the guard writes nothing and passes its exit code on.
//
// A socket connects the two. The second process recognises by it that it has a guard: by what waits
// in the socket, and not by a variable, which programs below would inherit. When the guard is
// killed, the socket closes; the program then leaves the screen itself and is told to save. If both
// are killed, the terminal stays as it is.
//
// Where there is no guard (Windows), Run runs the program in this process. The package draws nothing
// and knows nothing of jobs. Start reading at [Run].
package guard

import (
	"context"
	"io"
	"os"
)

// Options are what a guard needs.
type Options struct {
	In       *os.File  // the terminal
	Out, Err io.Writer // the terminal, and where a message is written
	Environ  []string  // of the second process
	// Hint ends the message about a program that was killed or crashed: what the user can do now.
	Hint string
}

// A UI is the full-screen program. It must end when its context is done. It can call hint with a
// text that replaces Options.Hint: which job can be resumed, and how.
type UI func(ctx context.Context, hint func(string)) error

// leave switches off what a full-screen program can have switched on, and then leaves its screen.
// It begins with the end of a string, because the program can have been killed within one. Settings
// that belong to a screen are undone before it is left.
const leave = "\x1b\\" +
	"\x1b[?2026l" + // shows frames when they are complete
	"\x1b[?9l\x1b[?1000l\x1b[?1001l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l" + // the mouse
	"\x1b[?1004l" + // reports of the focus
	"\x1b[?2004l" + // marks around pasted text
	"\x1b[?2027l\x1b[?2031l\x1b[?2048l" + // widths of characters, reports of colours and sizes
	"\x1b[>4;0m" + // modifyOtherKeys
	"\x1b[<u" + // the keyboard protocol of kitty; each screen has a stack
	"\x1b[?1l\x1b>" + // cursor keys and keypad
	"\x1b[4l\x1b[?6l\x1b[r\x1b[?7h" + // inserting, origin, scrolled region, wrapping
	"\x0f\x1b(B" + // characters instead of line drawings
	"\x1b[m\x1b[0 q\x1b[?25h" + // attributes, shape of the cursor, cursor
	"\x1b[?1049l" + // the other screen
	"\x1b[m\x1b[?25h" // some terminals keep them for each screen
