package secret

import (
	"encoding/base64"
	"slices"
	"strings"
)

// A pattern is one form of a secret.
type pattern struct {
	text   string
	marker string
	base64 bool // a few characters of base64 may follow
}

// A matcher finds all patterns in one pass.
type matcher struct {
	patterns []pattern
	byFirst  [256][]int // patterns that can begin with a byte, longest first
	pairs    pairs      // the two bytes with which anything that is found begins
	exact    pairs      // the two bytes with which the patterns themselves begin
	percent  bool       // some pattern changes when it is written into a URL
}

// Pairs is a set of two bytes. Most places of a text are not in it, and are passed over
// without a look at the patterns.
type pairs [1 << 16 / 64]uint64

func (s *pairs) add(a, b byte)      { s[int(a)<<2|int(b)>>6] |= 1 << (b & 63) }
func (s *pairs) has(a, b byte) bool { return s[int(a)<<2|int(b)>>6]&(1<<(b&63)) != 0 }

// addStart notes every way in which a pattern that begins with a byte can begin in a text. The
// second byte, as it is, is not among them.
func (s *pairs) addStart(first byte) {
	for _, b := range []byte{'\\', '%', '+', '\n', '\r', '\x1b', '\b', 0} {
		s.add(first, b)
	}
	s.add(lowerDigits[first>>4], lowerDigits[first&15])
	s.add(upperDigits[first>>4], upperDigits[first&15])
	s.add('%', upperDigits[first>>4])
	s.add('%', lowerDigits[first>>4])
	for _, c := range []byte{'\\', 'u', 'U', 'x'} {
		s.add('\\', c)
	}
	for b := range 256 {
		if c := byte(b); first == '\\' || c == first && short(c) == c {
			s.add('\\', c)
		}
	}
	for i := range len(shortLetters) {
		if c := shortLetters[i]; short(c) == first {
			s.add('\\', c)
		}
	}
}

// newMatcher prepares to look for values.
func newMatcher(values []namedValue) *matcher {
	m := new(matcher)
	var markers strings.Builder
	for _, v := range values {
		markers.WriteString(v.marker() + "\n")
	}
	for _, v := range values {
		if strings.Contains(markers.String(), v.value) {
			continue // a key called "redacted", or by its own name, hides nothing
		}
		m.patterns = append(m.patterns, pattern{text: v.value, marker: v.marker()})
		if valid := strings.ToValidUTF8(v.value, "\uFFFD"); valid != v.value {
			m.patterns = append(m.patterns, pattern{text: valid, marker: v.marker()})
		}
		for _, form := range utf16Forms(v.value) {
			m.patterns = append(m.patterns, pattern{text: form, marker: v.marker()})
		}
		for _, form := range base64Forms(v.value) {
			m.patterns = append(m.patterns, pattern{text: form, marker: v.marker(), base64: true})
		}
	}
	for _, p := range m.patterns {
		m.percent = m.percent || strings.ContainsFunc(p.text, isReserved)
	}
	slices.SortStableFunc(m.patterns, func(a, b pattern) int { return len(b.text) - len(a.text) })
	for digit := byte('0'); digit <= '9'; digit++ {
		m.pairs.add('\n', digit) // a dump can begin there
	}
	var started [256]bool
	for i, p := range m.patterns {
		if !started[p.text[0]] { // once: a key of many lines has hundreds of patterns
			started[p.text[0]] = true
			m.pairs.addStart(p.text[0])
		}
		m.pairs.add(p.text[0], p.text[1])
		m.exact.add(p.text[0], p.text[1])
		for _, first := range []byte{p.text[0], '\\', '%', lowerDigits[p.text[0]>>4], upperDigits[p.text[0]>>4]} {
			if list := m.byFirst[first]; len(list) == 0 || list[len(list)-1] != i {
				m.byFirst[first] = append(list, i)
			}
		}
	}
	return m
}

// isReserved reports whether a character is written as %XX in some part of a URL.
func isReserved(r rune) bool {
	return !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '-' || r == '_' || r == '.' || r == '~')
}

// base64Forms returns what is always there when a text that contains value is encoded:
// the whole groups of three bytes, for each of the three places where value can begin.
// So it does not matter whether a line end or a user name went along.
func base64Forms(value string) []string {
	var forms []string
	for skip := range 3 {
		rest := value[skip:]
		whole := rest[:len(rest)/3*3]
		form := base64.StdEncoding.EncodeToString([]byte(whole))
		if skip > 0 && len(form) < 16 {
			continue // too little of the value would decide
		}
		forms = append(forms, form)
		if url := base64.URLEncoding.EncodeToString([]byte(whole)); url != form {
			forms = append(forms, url)
		}
	}
	return forms
}

// redact replaces what it finds. It reports whether that is something, and whether the text
// can contain a dump, which redactDumps reads.
func (m *matcher) redact(text string) (redacted string, found, dump bool) {
	var out strings.Builder
	copied := 0 // how much of text is in out
	dump = startsDump(text)
	for from := 0; ; {
		begin, end, marker := m.find(text, from, &dump)
		if end == 0 {
			break
		}
		out.WriteString(text[copied:begin])
		out.WriteString(marker)
		copied, from = end, end
	}
	if copied == 0 {
		return text, false, dump
	}
	out.WriteString(text[copied:])
	return out.String(), true, dump
}

// find returns where the next secret is, from a place on. Without one, end is 0. It sets dump if
// it passes the beginning of one.
func (m *matcher) find(text string, from int, dump *bool) (begin, end int, marker string) {
	if from == 0 {
		if n, marker := m.head(text); n > 0 {
			if whole, name := m.at(text, 0); whole >= n {
				n, marker = whole, name
			}
			return 0, n, marker
		}
	}
	for i := from; i < len(text)-1; i++ {
		if !m.pairs.has(text[i], text[i+1]) {
			continue
		}
		if text[i] == '\n' && !*dump {
			*dump = startsDump(text[i+1:])
		}
		if !m.followed(text, i) {
			continue
		}
		if n, marker := m.at(text, i); n > 0 {
			return i, i + n, marker
		}
	}
	return 0, 0, ""
}

// followed reports whether a pattern can continue behind the noise after its first byte. It looks
// once for all patterns: many lines end with a byte that begins a secret.
func (m *matcher) followed(text string, i int) bool {
	switch text[i+1] {
	case '\n', '\r', '\x1b', '\b', 0:
	default:
		return true
	}
	if m.exact.has(text[i], text[i+1]) || text[i] == '\\' || text[i] == '%' {
		return true
	}
	next := i + 1
	for next < len(text) && next <= i+maxGap {
		n := noise(text[next:])
		if n == 0 {
			return m.pairs.has(text[i], text[next])
		}
		next += n
	}
	return true
}

// at returns how many bytes of text from i on are a secret, or the beginning of one
// with which the text ends. Of several the one that takes most counts.
func (m *matcher) at(text string, i int) (most int, marker string) {
	inRun := i > 0 && text[i] == '\\' && text[i-1] == '\\' // it was read from its first one
	for _, k := range m.byFirst[text[i]] {
		p := &m.patterns[k]
		if inRun && p.text[0] != '\\' {
			continue
		}
		var n int
		if strings.HasPrefix(text[i:], p.text) {
			n = len(p.text)
		} else if !inRun {
			n = p.match(text[i:], 0, escapes)
			if n == 0 && m.percent && text[i] != '\\' {
				n = p.match(text[i:], 0, percents)
			}
			if n == 0 && !p.base64 && text[i] <= 'f' {
				n = p.match(text[i:], 0, digits)
			}
		}
		if n > 0 && p.base64 {
			n += tail(text[i+n:])
		}
		if n > most {
			most, marker = n, p.marker
		}
	}
	return most, marker
}

// head returns how many bytes of text are the end of a secret that was cut in two.
func (m *matcher) head(text string) (most int, marker string) {
	if len(text) < minLength {
		return 0, ""
	}
	for k := range m.patterns {
		p := &m.patterns[k]
		if first, ok := hex(text, 2); ok && !p.base64 {
			for from := 1; from <= len(p.text)-minLength; from++ {
				if p.text[from] != byte(first) {
					continue
				}
				if n := p.match(text, from, digits); n > most {
					most, marker = n, p.marker
				}
			}
		}
		for from := 1; from <= len(p.text)-minLength; from++ {
			if text[0] != '\\' && text[0] != '%' {
				skip := strings.IndexByte(p.text[from:], text[0])
				if skip < 0 || from+skip > len(p.text)-minLength {
					break
				}
				from += skip
			}
			if n := p.match(text, from, escapes); n > most {
				most, marker = n, p.marker
			}
		}
	}
	return most, marker
}

// tail counts what base64 may add behind the whole groups of a value.
func tail(text string) int {
	n := 0
	for n < len(text) && n < 4 && (isBase64(text[n]) || text[n] == '=') {
		n++
	}
	return n
}

func isBase64(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '+' || c == '/' || c == '-' || c == '_'
}
