package host

import (
	"cmp"
	"io"
	"strings"
)

// Plain returns a writer for lines that people read. In a locale that is not UTF-8, such as
// LC_ALL=C, the terminal cannot show the symbols of perstack; they are written as one ASCII
// character each, so that columns stay what they are.
func (h *Host) Plain(w io.Writer) io.Writer {
	if h.UTF8() {
		return w
	}
	return plainWriter{w}
}

// UTF8 reports whether the terminal shows all characters, as the locale says.
func (h *Host) UTF8() bool {
	locale := strings.ToLower(cmp.Or(h.Getenv("LC_ALL"), h.Getenv("LC_CTYPE"), h.Getenv("LANG"), "utf-8"))
	return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
}

// Colors reports whether the user wants colours on a terminal.
func (h *Host) Colors() bool { return h.Getenv("NO_COLOR") == "" && h.Getenv("TERM") != "dumb" }

type plainWriter struct{ w io.Writer }

var symbols = strings.NewReplacer("●", "*", "○", "o", "…", "~", "└", "`", "├", "|", "│", "|", "─", "-", "→", ">", "█", "#", "░", ".", "✓", "+", "✗", "x", "•", "-", "·", "-",
	"⠋", "|", "⠙", "/", "⠹", "-", "⠸", `\`, "⠼", "|", "⠴", "/", "⠦", "-", "⠧", `\`, "⠇", "|", "⠏", "/")

func (p plainWriter) Write(data []byte) (int, error) {
	if _, err := io.WriteString(p.w, symbols.Replace(string(data))); err != nil {
		return 0, err
	}
	return len(data), nil
}
