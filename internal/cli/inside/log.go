package inside

import (
	"log/slog"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
)

// logger hands what goes wrong beside the work to the host, and everything if the user
// wants to see it.
func (w *work) logger() *slog.Logger {
	return host.LineLogger(w.document.Spec.Verbose, func(level slog.Level, line string) error {
		return w.voice.say(hostlink.Up{Log: &hostlink.Log{Level: level.String(), Text: w.clean(line)}})
	})
}
