package secret

import (
	"strconv"
	"strings"
)

// A dump is text that shows bytes by their numbers, with the offset of each line in front, as
// xxd, od and hexdump print it. A secret in it goes from one line to the next, with an offset and
// perhaps a column of readable characters between. So the lines are decoded, and what they hold
// is searched. A line with a part of a secret is replaced as a whole, behind its offset.

const (
	minOffset, maxOffset = 6, 16 // digits of the offset
	maxDumpLine          = 400   // bytes of a line; od -c of 64 bytes takes 264
)

// redactDumps replaces the lines of dumps that hold a part of a secret.
func (m *matcher) redactDumps(text string) (string, bool) {
	var out strings.Builder
	copied := 0
	for at := 0; at < len(text); {
		if !startsDump(text[at:]) {
			end := strings.IndexByte(text[at:], '\n')
			if end < 0 {
				break
			}
			at += end + 1
			continue
		}
		d := readDump(text, at)
		for _, l := range m.covered(d) {
			out.WriteString(text[copied:l.data])
			out.WriteString(" " + l.marker)
			copied = l.end
		}
		at = d.end
	}
	if copied == 0 {
		return text, false
	}
	out.WriteString(text[copied:])
	return out.String(), true
}

// startsDump reports whether a line begins with the offset of a dump. Offsets have a fixed number
// of digits, so that the first is nearly always a zero.
func startsDump(line string) bool {
	if line == "" || line[0] < '0' || line[0] > '9' {
		return false
	}
	n := offsetLength(line)
	return n >= minOffset && n < len(line) && (line[n] == ':' || line[n] == ' ')
}

func offsetLength(line string) int {
	n := 0
	for n < len(line) && n <= maxOffset && strings.IndexByte(lowerDigits, line[n]) >= 0 {
		n++
	}
	if n > maxOffset {
		return 0
	}
	return n
}

// A dump is some lines of a text, decoded.
type dump struct {
	bytes []byte
	lines []dumpLine
	end   int // in the text, behind the last line

	first, last bool // it begins or ends the text
}

type dumpLine struct {
	data, end int // in the text: behind the offset, and before the line end
	from      int // in the bytes
	marker    string
}

// readDump decodes the lines from an offset of the text on. It reads at least one line.
func readDump(text string, at int) (d dump) {
	d.first = at == 0
	for d.end = at; d.end < len(text) && startsDump(text[d.end:]); {
		begin, end := d.end, len(text)
		if i := strings.IndexByte(text[begin:], '\n'); i >= 0 {
			end = begin + i
		}
		data := begin + offsetLength(text[begin:])
		decoded, ok := decodeDump(text[data:end])
		if ok {
			d.lines = append(d.lines, dumpLine{data: data, end: end, from: len(d.bytes)})
			d.bytes = append(d.bytes, decoded...)
		}
		d.end = min(end+1, len(text))
		if !ok {
			break
		}
	}
	rest := text[d.end:] // perhaps an offset that was cut
	d.last = len(rest) <= maxOffset && offsetLength(rest) == len(rest)
	return d
}

// edge is no UTF-8.
const edge = "\xff"

// covered returns the lines that hold a part of a secret.
func (m *matcher) covered(d dump) (found []dumpLine) {
	// Only a dump at the edge of the text can be cut there. Elsewhere a byte that no secret has
	// stands at its edge: lines that are replaced now must not reveal more lines in a next round.
	held := string(d.bytes)
	if !d.first {
		held = edge + held
		for i := range d.lines {
			d.lines[i].from++
		}
	}
	if !d.last {
		held += edge
	}
	next := 0
	for from := 0; len(held) >= minLength; {
		dump := true // in a dump none is looked for
		begin, end, marker := m.find(held, from, &dump)
		if end == 0 {
			return found
		}
		for ; next < len(d.lines) && d.lines[next].from < end; next++ {
			after := len(held)
			if next+1 < len(d.lines) {
				after = d.lines[next+1].from
			}
			if after > begin {
				d.lines[next].marker = marker
				found = append(found, d.lines[next])
			}
		}
		from = end
	}
	return found
}

// decodeDump reads what follows the offset in a line.
func decodeDump(data string) ([]byte, bool) {
	data = strings.TrimSuffix(data, "\r")
	if data == "" || len(data) > maxDumpLine {
		return nil, false
	}
	if data[0] == ':' { // xxd: readable characters follow two blanks
		data, _, _ = strings.Cut(strings.TrimPrefix(data[1:], " "), "  ")
		return decodeNumbers(strings.Fields(data), false)
	}
	if decoded, ok := decodeColumns(data); ok {
		return decoded, true
	}
	for _, column := range []string{"  |", "  >"} { // readable characters, of hexdump -C and od -t x1z
		if i := strings.Index(data, column); i >= 0 {
			data = data[:i]
		}
	}
	return decodeNumbers(strings.Fields(data), true)
}

// decodeColumns reads what od -a, -b and -c and hexdump -b and -c print: four columns a byte.
func decodeColumns(data string) ([]byte, bool) {
	data = strings.TrimRight(data, " ") + strings.Repeat(" ", (4-len(strings.TrimRight(data, " "))%4)%4)
	var out []byte
	for ; data != ""; data = data[4:] {
		column := strings.TrimLeft(data[:4], " ")
		switch {
		case column == "": // a blank
			out = append(out, ' ')
		case len(column) == 1:
			out = append(out, column[0])
		case len(column) == 2 && column[0] == '\\':
			out = append(out, short(column[1]))
		case columnNames[column] != 0: // of od -a
			out = append(out, columnNames[column])
		case len(column) == 3:
			b, err := strconv.ParseUint(column, 8, 8)
			if err != nil {
				return nil, false
			}
			out = append(out, byte(b))
		default:
			return nil, false
		}
	}
	return out, true
}

var columnNames = map[string]byte{"sp": ' ', "nl": '\n', "ht": '\t', "cr": '\r'}

// decodeNumbers reads bytes or words. Words of od and hexdump have the order of the machine,
// which is nearly always that with the low byte first; xxd only groups bytes.
func decodeNumbers(words []string, swapped bool) ([]byte, bool) {
	var out []byte
	for i, word := range words {
		if i > 0 && i == len(words)-1 && len(word)%2 != 0 {
			break // the text was cut
		}
		base, size := 16, len(word)/2
		if swapped && len(word) == 6 {
			base, size = 8, 2 // od without options
		}
		number, err := strconv.ParseUint(word, base, 8*size)
		if err != nil || base == 16 && len(word)%2 != 0 || size > 8 {
			return nil, false
		}
		for i := range size {
			shift := 8 * (size - 1 - i)
			if swapped {
				shift = 8 * i
			}
			out = append(out, byte(number>>shift))
		}
	}
	return out, len(out) > 0
}
