package inside

import (
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/terminal"
)

// beat sends heartbeats until the work is done, and while it is being saved.
func (w *work) beat(done <-chan struct{}) {
	tick := time.NewTicker(hostlink.Pulse)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if w.conn.Send(hostlink.Up{Alive: true}) != nil {
				return // the job finds out by itself
			}
		case <-done:
			return
		}
	}
}

// secondLook is how long a host is listened to that seems to be gone: it may be this container
// that was held up.
const secondLook = 2 * hostlink.Pulse

// awaitEnd returns when the host is gone: it has closed the link, or said nothing for a limit.
func awaitEnd(host *hostlink.Conn, limit time.Duration) {
	silence := time.NewTimer(limit)
	defer silence.Stop()
	quiet := false
	for {
		select {
		case <-host.Gone():
			return
		case <-host.Heard():
			quiet = false
			silence.Reset(limit)
		case <-silence.C:
			if quiet {
				return
			}
			quiet = true
			silence.Reset(min(secondLook, limit))
		}
	}
}

// logger sends warnings to the host, and with Verbose everything.
func (w *work) logger() *slog.Logger {
	return terminal.LineLogger(w.document.Spec.Verbose, func(level slog.Level, line string) error {
		return w.conn.Send(hostlink.Up{Log: &hostlink.Log{Level: level.String(), Text: w.clean(line)}})
	})
}

// hideKnown hides what the document says must not be seen, and the tokens of the listeners.
// Commands are given theirs, and one that prints its environment must not put it into the
// history.
func (w *work) hideKnown() {
	d := w.document
	secrets := w.opts.secrets
	for name, value := range d.Secrets.Hidden {
		secrets.Add(name, value)
	}
	listeners := append(slices.Collect(maps.Values(d.Secrets.Proxies)), d.Secrets.Proxy)
	for _, listener := range listeners {
		if u, err := url.Parse(listener); err == nil && u.User != nil {
			token, _ := u.User.Password()
			secrets.Add("PROXY_TOKEN", token)
		}
	}
	for name, value := range d.Secrets.Env {
		secrets.AddIfRandom(name, value)
	}
}

// maxText is how many bytes of an error or a line of the log are told.
const maxText = 8 << 10

// clean removes secrets and control sequences from a text, and cuts it. Control sequences
// are removed first: they can hide a secret.
func (w *work) clean(text string) string {
	text = w.opts.secrets.Redact(terminal.Clean(text))
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
