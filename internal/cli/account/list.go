package account

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/terminal"
)

// A stored login, for programs. Its key is not in it.
type stored struct {
	For     string    `json:"for"`           // registry, provider or runtime
	Name    string    `json:"name,omitzero"` // of a provider or a runtime
	URL     string    `json:"registry,omitzero"`
	Known   string    `json:"registryName,omitzero"` // in the user's configuration
	Last4   string    `json:"last4,omitzero"`
	Helper  string    `json:"helper,omitzero"`
	Account string    `json:"account,omitzero"`
	Ends    time.Time `json:"expiresAt,omitzero"`
	Expired bool      `json:"expired"`
	Stored  time.Time `json:"storedAt"`
}

// list prints all logins.
func (s *session) list(asJSON bool) error {
	logins, err := s.logins.File.Load()
	if err != nil {
		return &host.ExitError{Code: host.ExitUsage, Err: err}
	}
	logins.Hide(&s.host.Secrets)
	all := []stored{}
	for _, part := range []struct {
		kind    string
		entries map[string]credentials.Entry
	}{{"registry", logins.Registries}, {"provider", logins.Providers}, {"runtime", logins.Runtimes}} {
		for _, name := range slices.Sorted(maps.Keys(part.entries)) {
			e := part.entries[name]
			one := stored{For: part.kind, Name: name, Last4: last4(e.Key), Helper: e.Helper, Account: e.Account, Ends: e.Ends, Stored: e.Stored}
			one.Expired = !e.Ends.IsZero() && !s.logins.Now().Before(e.Ends)
			if part.kind == "registry" {
				one.Name, one.URL = "", name
				if d, err := s.registries.Choose(name); err == nil {
					one.Known = d.Registry.Name
				}
			}
			all = append(all, one)
		}
	}
	if asJSON {
		return host.WriteJSON(s.host.Stdout, struct {
			File   string   `json:"file"`
			Logins []stored `json:"logins"`
		}{s.logins.File.Path, all})
	}
	out := &strings.Builder{}
	for _, one := range all {
		fmt.Fprintln(out, one.describe())
	}
	if len(all) == 0 {
		fmt.Fprintln(out, "No logins are stored")
	}
	_, err = fmt.Fprint(s.host.Stdout, out)
	return err
}

// last4 are the last characters of a key, if the rest is long enough to stay a secret.
func last4(key string) string {
	if len(key) < 16 {
		return ""
	}
	return key[len(key)-4:]
}

func (l *stored) describe() string {
	line := terminal.CleanLine(cmp.Or(l.URL, l.Name))
	if l.Known != "" {
		line += " (" + terminal.CleanLine(l.Known) + ")"
	}
	switch {
	case l.Helper != "":
		line += "  in the keychain of " + terminal.CleanLine(l.Helper)
	case l.Last4 != "":
		line += "  ..." + terminal.CleanLine(l.Last4)
	}
	if l.Account != "" {
		line += "  " + terminal.RevealLine(l.Account)
	}
	switch {
	case l.Expired:
		line += "  ended " + l.Ends.UTC().Format(time.DateOnly)
	case !l.Ends.IsZero():
		line += "  until " + l.Ends.UTC().Format(time.DateOnly)
	}
	return line
}
