package terminal

import (
	"unicode"
	"unicode/utf8"
)

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'

	textStyle  = '\ufe0e' // variation selector 15: show the character before as text
	emojiStyle = '\ufe0f' // variation selector 16: as a picture
)

// isInvisible reports whether r draws nothing of its own:
//
//   - bidirectional marks, embeddings, overrides and isolates: they show "exe.txt"
//     where the file is called "txt.exe";
//   - zero width space, word joiner, byte order mark, soft hyphen, invisible operators,
//     annotation marks: with them two names look the same and are not;
//   - tags (U+E0000 and up) and variation selectors: each can stand for a byte, and a
//     run of them for a message that a model reads and a person does not. It costs the
//     flags of England, Scotland and Wales, which show as a black flag;
//   - letters that are blank, like the Hangul fillers and the empty Braille pattern;
//   - characters that stand for nothing that everybody knows: private use, and the
//     place of a missing object. Some fonts have pictures for private use;
//     to lose them, in a prompt that a command printed, is better than a channel that
//     most terminals draw as nothing.
//
// Signs of Arabic and Syriac that enclose a number are format characters as well, but
// they are drawn.
func isInvisible(r rune) bool {
	if r < 0x80 {
		return false
	}
	if unicode.Is(unicode.Cf, r) {
		return !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
	}
	return unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point, unicode.Bidi_Control) ||
		r >= 0xe0000 && r <= 0xe0fff || r == 0x2800 || r == 0xfffc || unicode.Is(unicode.Co, r)
}

// isNeeded reports whether an invisible r makes a visible difference where it stands:
// a joiner between parts of an emoji or letters of a script that joins, or one choice
// between text and picture after a symbol. last is what was written before, rest what
// follows.
func isNeeded(last, r rune, rest string) bool {
	switch r {
	case joiner, nonJoiner:
		next, _ := utf8.DecodeRuneInString(rest)
		return joins(last) && joins(next) && !isInvisible(next)
	case textStyle, emojiStyle:
		if last < 0x80 { // these become keycaps by it; nothing else of ASCII is a picture
			return last >= '0' && last <= '9' || last == '#' || last == '*'
		}
		return unicode.In(last, unicode.So, unicode.Sm, unicode.Po, unicode.Nd, unicode.Sk) && last != utf8.RuneError
	}
	return false
}

// joins reports whether a joiner beside r can change how r looks. In the scripts of
// Europe it cannot, and there it serves only to tell words apart that look the same.
func joins(r rune) bool {
	const firstJoining = 0x0590 // Latin, Greek, Cyrillic and Armenian lie before
	if r < firstJoining || r == utf8.RuneError || unicode.Is(unicode.Latin, r) {
		return false
	}
	return r == emojiStyle || unicode.In(r, unicode.L, unicode.M, unicode.So, unicode.Sk)
}
