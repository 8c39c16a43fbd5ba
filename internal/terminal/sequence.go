package terminal

import "strings"

const (
	esc = '\x1b'
	bel = "\x07"

	// maxString is how much of a terminated OSC, DCS, APC, PM or SOS is taken for what
	// it says it is. A longer one is printed as text without its introducer: else a
	// page of text could be kept from the reader by putting it into a title.
	maxString = 2048
	// maxParameters bounds a CSI in the same way. Real ones have a dozen bytes.
	maxParameters = 64
)

// afterSequence returns what follows the control sequence that r opens, of which rest is
// the remainder. A sequence without an end is none: only what opens it is removed.
func afterSequence(r rune, rest string) string {
	if r == esc {
		if rest == "" {
			return rest
		}
		switch rest[0] {
		case '[', ']', 'P', 'X', '^', '_':
			r, rest = rune(rest[0])+0x40, rest[1:] // the C1 control it stands for
		default:
			return afterEscape(rest)
		}
	}
	switch r {
	case '\u009b': // CSI
		return afterCSI(rest)
	case '\u009d', '\u0090', '\u0098', '\u009e', '\u009f': // OSC, DCS, SOS, PM, APC
		return afterString(rest)
	}
	return rest
}

// afterEscape skips an escape sequence of the short kind: intermediates and a final
// byte, as in ESC ( B.
func afterEscape(rest string) string {
	i := 0
	for i < len(rest) && i < 4 && rest[i] >= 0x20 && rest[i] <= 0x2f {
		i++
	}
	switch {
	case i == len(rest) || rest[i] < 0x30 || rest[i] > 0x7e:
		return rest // no sequence: keep the text
	case i == 0 && rest[0] >= 'a' && rest[0] != 'c':
		return rest // nothing that a terminal knows, and much like a word
	}
	return rest[i+1:]
}

// afterCSI skips parameters, intermediates and the final byte.
func afterCSI(rest string) string {
	i := 0
	for i < len(rest) && i < maxParameters && rest[i] >= 0x30 && rest[i] <= 0x3f {
		i++
	}
	for i < len(rest) && i < maxParameters && rest[i] >= 0x20 && rest[i] <= 0x2f {
		i++
	}
	if i == len(rest) || rest[i] < 0x40 || rest[i] > 0x7e {
		return rest
	}
	return rest[i+1:]
}

// afterString skips to behind the terminator: BEL, ESC \ or the C1 control ST. It must
// come on the same line.
func afterString(rest string) string {
	window := rest[:min(len(rest), maxString)]
	if i := strings.IndexAny(window, "\n\r"); i >= 0 {
		window = window[:i]
	}
	end, skip := -1, 0
	for _, terminator := range []string{bel, "\x1b\\", "\u009c"} {
		if i := strings.Index(window, terminator); i >= 0 && (end < 0 || i < end) {
			end, skip = i, len(terminator)
		}
	}
	if end < 0 {
		return rest
	}
	return rest[end+skip:]
}
