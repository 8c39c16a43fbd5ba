package inside

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/terminal"
)

// hideKnown hides what the document says must not be seen, and the tokens of the listeners.
// Commands are given theirs, and one that prints its environment must not put it into the
// history.
func (w *work) hideKnown() {
	d := w.document
	secrets := &w.host.Secrets
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

// clean makes a text fit to be told: without secrets and what acts on terminals, and not
// too long. Cleaned first: a secret with something invisible in it is one again afterwards.
func (w *work) clean(text string) string {
	text = w.host.Secrets.Redact(terminal.Clean(text))
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "…"
	}
	return text
}
