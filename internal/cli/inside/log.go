package inside

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/runtimes/docker/hatch"
)

// logger hands what goes wrong beside the work to the host, and everything if the user
// wants to see it.
func (w *work) logger() *slog.Logger {
	level := slog.LevelWarn
	if w.document.Verbose {
		level = slog.LevelDebug
	}
	return slog.New(&logHandler{work: w, level: level})
}

// A logHandler makes a line of a record: the message, and what belongs to it in
// parentheses.
type logHandler struct {
	work  *work
	level slog.Level
	attrs []string // "name=value", of With
	group string   // ends in a dot; empty for none
}

func (l *logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

func (l *logHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(l.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = appendAttr(attrs, l.group, a)
		return true
	})
	text := r.Message
	if len(attrs) > 0 {
		text += " (" + strings.Join(attrs, ", ") + ")"
	}
	return l.work.voice.say(hatch.Up{Log: &hatch.Log{Level: r.Level.String(), Text: l.work.clean(text)}})
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
	text := value.String()
	if text == "" || strings.ContainsAny(text, ` ,=()"`) {
		text = strconv.Quote(text)
	}
	return append(attrs, group+a.Key+"="+text)
}
