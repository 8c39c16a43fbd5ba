package host

import (
	"fmt"
	"log/slog"

	"github.com/perstack-go/perstack/internal/terminal"
)

// Logger writes warnings and errors to standard error for people, and everything if
// verbose. A line looks like
//
//	perstack: warning: the skill has no tool of this name (skill=web, tool=serch, in=pick)
func (h *Host) Logger(verbose bool) *slog.Logger {
	return terminal.LineLogger(verbose, func(level slog.Level, line string) error {
		h.logging.Lock()
		defer h.logging.Unlock()
		// Cleaned first: removing invisible characters can complete a secret.
		_, err := fmt.Fprintln(h.Stderr, h.Secrets.Redact(terminal.CleanLine("perstack: "+levelWord(level)+": "+line)))
		return err
	})
}

func levelWord(level slog.Level) string {
	switch {
	case level >= slog.LevelError:
		return "error"
	case level >= slog.LevelWarn:
		return "warning"
	case level >= slog.LevelInfo:
		return "info"
	}
	return "debug"
}
