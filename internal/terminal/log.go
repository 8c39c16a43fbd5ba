package terminal

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

// LineLogger makes one line of each record, with its attributes in parentheses, and passes
// it to write, from any goroutine: warnings and errors, and everything if verbose.
func LineLogger(verbose bool, write func(level slog.Level, line string) error) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(&logHandler{level: level, write: write})
}

// A logHandler writes a record as one line that is safe to print. Log records contain text
// of servers, files and models, whose line ends must not begin a line of ours.
type logHandler struct {
	level slog.Level
	write func(level slog.Level, line string) error
	attrs []string // "name=value", of With
	group string   // ends in a dot; empty for none
}

func (l *logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

func (l *logHandler) Handle(_ context.Context, r slog.Record) error {
	line := r.Message
	attrs := slices.Clone(l.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = appendAttr(attrs, l.group, a)
		return true
	})
	if len(attrs) > 0 {
		line += " (" + strings.Join(attrs, ", ") + ")"
	}
	return l.write(r.Level, line)
}

func (l *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *l
	next.attrs = slices.Clone(l.attrs)
	for _, a := range attrs {
		next.attrs = appendAttr(next.attrs, l.group, a)
	}
	return &next
}

func (l *logHandler) WithGroup(name string) slog.Handler {
	next := *l
	if name != "" {
		next.group += name + "."
	}
	return &next
}

func appendAttr(attrs []string, group string, a slog.Attr) []string {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			group += a.Key + "."
		}
		for _, member := range value.Group() {
			attrs = appendAttr(attrs, group, member)
		}
		return attrs
	}
	if a.Key == "" {
		return attrs
	}
	text := CleanLine(value.String())
	if text == "" || strings.ContainsAny(text, ` ,=()"`) {
		text = strconv.Quote(text)
	}
	return append(attrs, group+a.Key+"="+text)
}
