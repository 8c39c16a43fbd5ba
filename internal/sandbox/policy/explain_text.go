package policy

import (
	"net/netip"
	"path/filepath"
	"strings"
	"unicode"
)

// plain removes what colours a line, and control characters.
func plain(line string) string {
	if strings.Contains(line, "\x1b[") {
		var out strings.Builder
		for {
			before, after, ok := strings.Cut(line, "\x1b[")
			out.WriteString(before)
			if !ok {
				break
			}
			line = strings.TrimLeft(after, "0123456789;:?")
			if line != "" && line[0] < 0x80 {
				line = line[1:]
			}
		}
		line = out.String()
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, ""))
}

// CommandName returns how hints name a program.
func CommandName(command string) string {
	fields := strings.Fields(plain(command[:min(len(command), maxHintLine)]))
	if len(fields) == 0 {
		return ""
	}
	return filepath.Base(fields[0])
}

// A cause is what a line says about a failure.
type cause int

const (
	denied cause = iota + 1
	readOnly
	missing
	busy
	unreachable
	refused // by a proxy
)

// causes lists texts in any letter case, and the names of errors in capitals. The first that a line
// contains counts.
func causes() []struct {
	text  string
	cause cause
} {
	return []struct {
		text  string
		cause cause
	}{
		{"connect tunnel failed, response 403", refused},      // curl
		{"received http code 403 from proxy", refused},        // older versions of it
		{"tunnel connection failed: 403", refused},            // Python
		{"could not be established, statuscode=403", refused}, // Node
		{"could not resolve host", unreachable},
		{"EAI_AGAIN", unreachable},
		{"ENOTFOUND", unreachable},
		{"ENETUNREACH", unreachable},
		{"network is unreachable", unreachable},
		{"no such host", unreachable},
		{"name resolution", unreachable},
		{"name or service not known", unreachable},
		{"device or resource busy", busy},
		{"resource busy or locked", busy},
		{"EBUSY", busy},
		{"read-only file system", readOnly},
		{"EROFS", readOnly},
		{"permission denied", denied},
		{"EACCES", denied},
		{"no such file", missing},
		{"ENOENT", missing},
	}
}

func causeOf(line string) cause {
	lower := strings.ToLower(line)
	for _, c := range causes() {
		if strings.Contains(lower, c.text) || strings.Contains(line, c.text) {
			return c.cause
		}
	}
	return 0
}

// pathsIn returns what looks like a path in a line: words with a slash in them, or names that
// begin with a dot. A path in quotation marks can have blanks.
func pathsIn(line string) []string {
	var found []string
	for range maxWords {
		line = strings.TrimLeft(line, " :,;=()[]{}<>")
		if line == "" {
			break
		}
		var word string
		word, line = cutWord(line)
		word = strings.TrimRight(word, ".!?")
		if isPath(word) {
			found = append(found, word)
		}
	}
	return found
}

// cutWord returns the first word of a line, or what the quotation marks at its beginning contain.
func cutWord(line string) (word, rest string) {
	for _, marks := range [][2]string{{"'", "'"}, {`"`, `"`}, {"`", "'"}, {"`", "`"}, {"\u2018", "\u2019"}, {"\u201c", "\u201d"}} {
		inner, ok := strings.CutPrefix(line, marks[0])
		if !ok {
			continue
		}
		if word, rest, ok := strings.Cut(inner, marks[1]); ok {
			return word, rest
		}
		line = inner // a mark without a second one
	}
	for end := 0; ; end++ {
		next := strings.IndexAny(line[end:], " :,;=()[]{}<>'\"`\u2018\u2019\u201c\u201d")
		if next < 0 {
			return line, ""
		}
		end += next
		switch {
		case end == 0:
			return "", strings.TrimLeft(line, "'\"`\u2018\u2019\u201c\u201d")
		case line[end] != '\'' || end+1 == len(line) || !isLetter(line[end-1]) || !isLetter(line[end+1]): // can't
			return line[:end], line[end:]
		}
	}
}

func isPath(word string) bool {
	switch {
	case word == "" || len(word) > maxPathBytes || strings.Contains(word, "://") || strings.HasPrefix(word, "//"):
		return false
	case word[0] == '/' || strings.HasPrefix(word, "~/"):
		return true
	}
	return filepath.IsAbs(word) || strings.ContainsAny(word, "/.")
}

// network adds a hint for the host that a line names.
func (x *explainer) network(line string, c cause) {
	if x.policy.HostNetwork {
		return
	}
	host := hostIn(line)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return
	}
	if a, err := netip.ParseAddr(host); err == nil && a.IsLoopback() {
		return
	}
	x.add(Hint{Kind: HintNetwork, Host: host, ByProxy: c == refused})
}

// hostIn returns the host in a line: the first one behind a word that announces it, else the
// first that looks like one.
func hostIn(line string) string {
	lower := strings.ToLower(line)
	for _, before := range []string{"://", "resolve host ", "resolve host: ", "eai_again ", "enotfound ", "enetunreach ", "lookup ", "connect to ", "host='", "name or service not known: "} {
		if _, after, ok := strings.Cut(lower, before); ok {
			if host := asHost(after); host != "" {
				return host
			}
		}
	}
	for i, word := range strings.Fields(lower) {
		if i == maxWords {
			break
		}
		// A name of a file looks like a host, too, so the last part has to be letters alone.
		host := asHost(strings.Trim(word, `'"()[],;`))
		if strings.Count(host, ".") > 0 && !isFileName(host) {
			return host
		}
	}
	return ""
}

func isFileName(host string) bool {
	switch host[strings.LastIndexByte(host, '.')+1:] {
	case "go", "js", "ts", "py", "rs", "c", "h", "rb", "java", "sh", "json", "toml", "txt", "lock", "so", "mjs", "cjs", "exe":
		return true
	}
	return false
}

// asHost returns the host at the beginning of a text, without user and port; "" if there is none.
func asHost(text string) string {
	text = strings.TrimLeft(text, " '\"")
	if authority := text[:max(0, strings.IndexAny(text+" ", "/ '\""))]; strings.Contains(authority, "@") {
		text = text[strings.LastIndexByte(authority, '@')+1:] // user and password are not for hints
	}
	end := strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
	})
	if end < 0 {
		end = len(text)
	}
	host := strings.Trim(text[:end], ".-")
	if addr, ok := strings.CutPrefix(text, "["); ok {
		addr, _, _ = strings.Cut(addr, "]")
		if a, err := netip.ParseAddr(addr); err == nil {
			return a.String()
		}
	}
	if len(host) > 253 || !strings.ContainsAny(host, "abcdefghijklmnopqrstuvwxyz0123456789") {
		return ""
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return host
	}
	if host != "localhost" && !strings.ContainsAny(host[strings.LastIndexByte(host, '.')+1:], "abcdefghijklmnopqrstuvwxyz") {
		return "" // a version
	}
	if !strings.Contains(host, ".") && host != "localhost" {
		return ""
	}
	return host
}
