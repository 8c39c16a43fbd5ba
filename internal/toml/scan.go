package toml

import "bytes"

// maxMarks bounds the lines of a file, and the commas, dots, equals signs and opening brackets that
// are not in texts or comments. The parser makes a node of what each of them begins, all of one line at
// once: an array of millions of numbers takes seconds and gigabytes before the first value can be
// counted. A lockfile with 20,000 tools has two thirds of this.
const maxMarks = 500_000

// scan finds the lines of the file and counts its marks. If there are too many, it returns where.
// Like the parser, it is certain about texts up to the first syntax error, and the parser reads no
// further.
func (r *Reader) scan() (at int, ok bool) {
	marks, inside := 0, "" // inside is what ends the text or the comment, if there is one
	for i := 0; i < len(r.data); i++ {
		c := r.data[i]
		switch {
		case c == '\n':
			marks++
			r.lines = append(r.lines, i+1)
			if len(inside) == 1 {
				inside = "" // a comment, or a text without its end
			}
		case inside == "#":
		case inside != "":
			i, inside = afterByte(r.data, i, inside)
		case c == '#':
			inside = "#"
		case c == '"' || c == '\'':
			inside = string(c)
			if triple := string([]byte{c, c, c}); bytes.HasPrefix(r.data[i:], []byte(triple)) {
				inside = triple
				i += 2
			}
		case c == ',' || c == '.' || c == '=' || c == '[' || c == '{':
			marks++
		}
		if marks > maxMarks {
			return i, false
		}
	}
	return 0, true
}

// afterByte reads a byte of a text that ends with quotes. It returns the last byte that it read, and
// the quotes if the text continues.
func afterByte(data []byte, i int, quotes string) (last int, inside string) {
	switch {
	case data[i] == '\\' && quotes[0] == '"' && !bytes.HasPrefix(data[i+1:], []byte{'\n'}):
		return i + 1, quotes // the next byte ends nothing
	case !bytes.HasPrefix(data[i:], []byte(quotes)):
		return i, quotes
	}
	last = i + len(quotes) - 1
	if len(quotes) == 3 { // up to two more belong to the text
		for range 2 {
			if last+1 < len(data) && data[last+1] == quotes[0] {
				last++
			}
		}
	}
	return last, ""
}
