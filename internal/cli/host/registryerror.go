package host

import (
	"errors"

	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/terminal"
)

// RegistryError says which command helps against an error of a registry. [ExitCode] knows the exit code of
// each kind.
func (h *Host) RegistryError(d scopes.Decision, err error) error {
	if expired, ok := errors.AsType[*credentials.ExpiredError](err); ok {
		return Usagef("%w; log in again: %s login %s", err, h.Command, terminal.ShellJoin(expired.Origin))
	}
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	if e.Kind != client.Unauthorized {
		return err
	}
	told := *e
	told.Hint = h.loginHint(d, e.Status)
	return &told
}

// loginHint says how the user gets a key for a registry.
func (h *Host) loginHint(d scopes.Decision, status int) string {
	login := h.Command + " login"
	if !d.Default {
		login += " " + terminal.ShellJoin(d.Registry.URL)
	}
	switch {
	case status != 0:
		return "use a key that can do this: " + login
	case d.Default:
		return "set " + credentials.Variable + ", or log in: " + login
	}
	return "log in: " + login + " (" + credentials.Variable + " is for the default registry only)"
}
