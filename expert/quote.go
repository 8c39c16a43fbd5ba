package expert

import "strconv"

// quote shows a value in a message. Control characters and bidi marks come out escaped,
// and long values are cut, so that a hostile value cannot draw on the terminal.
func quote(s string) string {
	const longest = 60
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return strconv.Quote(s)
}
