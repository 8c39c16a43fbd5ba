package host

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// A warning is one line for people, wherever its text comes from.
func TestLogger(t *testing.T) {
	const key = "sk-9fK2mQ7xVb4Lw8Zt3Rp6Yc1Hd5Ng0Js"
	var out bytes.Buffer
	h := &Host{Stderr: &out}
	h.Secrets.Add("WEB_KEY", key)
	for want, log := range map[string]func(*slog.Logger){
		"perstack: warning: no such tool (skill=web, tool=serch)\n":             func(l *slog.Logger) { l.With("skill", "web").Warn("no such tool", "tool", "serch") },
		"perstack: error: it failed (error=\"a, b\")\n":                         func(l *slog.Logger) { l.Error("it failed", "error", errors.New("a, b")) },
		"perstack: warning: x perstack: all is well (a=\"1 perstack: done\")\n": func(l *slog.Logger) { l.Warn("x\nperstack: all is well", "a", "1\r\nperstack: done\x1b[2J") },
		"perstack: warning: [redacted: WEB_KEY] (a=[redacted: WEB_KEY])\n":      func(l *slog.Logger) { l.Warn(key, "a", key[:9]+"\u200b"+key[9:]) },
		"perstack: warning: x (g.a=1, g.h.b=\"\", g.h.c=true)\n":                func(l *slog.Logger) { l.WithGroup("g").Warn("x", "a", 1, slog.Group("h", "b", "", "c", true)) },
		"perstack: warning: x\n":                                                func(l *slog.Logger) { l.Debug("y"); l.Info("z"); l.Warn("x", slog.Attr{}) },
	} {
		out.Reset()
		log(h.Logger(false))
		if got := out.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	out.Reset()
	h.Logger(true).Debug("y", "n", 1)
	h.Logger(true).Info("z")
	if got := out.String(); got != "perstack: debug: y (n=1)\nperstack: info: z\n" || strings.Contains(got, "level=") {
		t.Errorf("verbose: %q", got)
	}
}
