package prompt

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// Keys with a meaning of their own. An end of input is an interrupt too.
const (
	interrupt = '\x03'
	endInput  = '\x04'
	escape    = '\x1b'
)

// keys turns what a terminal sends into keys. Arrows and other special keys are sequences that end
// in letters. Taken for letters they would be answers, so they are left out, even if their parts
// come one after the other.
type keys struct {
	state   state
	since   time.Time // when the state was entered
	pending []byte    // the beginning of a character
}

// A state says within which sequence the next byte is.
type state int

const (
	inText     state = iota
	inEscape         // after ESC
	inSequence       // after ESC [, up to a final byte
	inOne            // before the last byte, as after ESC O
)

// together is how long after ESC the rest of a sequence arrives at most.
const together = 100 * time.Millisecond

// read returns the keys of a chunk. A key that is no character, and Alt with a character, is left
// out. ESC alone is the key escape.
// It is never nil.
func (k *keys) read(chunk []byte) []rune {
	typed := []rune{}
	if k.state == inEscape && time.Since(k.since) > together {
		k.state = inText
	}
	k.since = time.Now()
	for i, b := range chunk {
		switch {
		case b == escape:
			k.state, k.pending = inEscape, nil
			if i == len(chunk)-1 {
				typed = append(typed, escape)
			}
		case b == interrupt || b == endInput:
			k.state, k.pending = inText, nil
			typed = append(typed, interrupt)
		case k.state == inEscape && b == '[':
			k.state = inSequence
		case k.state == inEscape && b == 'O':
			k.state = inOne
		case k.state == inEscape, k.state == inOne:
			k.state = inText
		case k.state == inSequence:
			if b >= 0x40 && b <= 0x7e {
				k.state = inText
			}
		default:
			typed = k.character(typed, b)
		}
	}
	return typed
}

// character adds a byte to the character that it belongs to.
func (k *keys) character(typed []rune, b byte) []rune {
	k.pending = append(k.pending, b)
	if !utf8.FullRune(k.pending) {
		return typed
	}
	r, _ := utf8.DecodeRune(k.pending)
	k.pending = nil
	if r == utf8.RuneError {
		return typed
	}
	return append(typed, r)
}

// isText reports whether a key is a character of a text.
func isText(key rune) bool { return strconv.IsPrint(key) }

func isEnter(key rune) bool { return key == '\r' || key == '\n' }

func isBackspace(key rune) bool { return key == '\b' || key == '\x7f' }
