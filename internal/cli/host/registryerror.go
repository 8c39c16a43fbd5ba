package host

import (
	"errors"
	"io"

	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/terminal"
)

// RegistryError gives an error of a registry its exit code, and says which command helps. What was wrong
// before anything was done is wrong usage: no key or one that is not accepted, or a name that does not
// exist.
func (h *Host) RegistryError(d scopes.Decision, err error) error {
	if expired, ok := errors.AsType[*credentials.ExpiredError](err); ok {
		return Usagef("%w; log in again: %s login %s", err, h.Command, terminal.ShellJoin(expired.Origin))
	}
	e, ok := errors.AsType[*client.Error](err)
	if !ok {
		return err
	}
	switch e.Kind {
	case client.Unauthorized:
		told := *e
		told.Hint = h.loginHint(d, e.Status)
		return &ExitError{ExitUsage, &told}
	case client.Configuration, client.NotFound, client.NotVerified:
		return &ExitError{ExitUsage, err}
	}
	return err
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

// A Failure is an error as programs read it.
type Failure struct {
	Kind      string `json:"kind"` // of [client.Error], or usage, or error
	Message   string `json:"message"`
	Field     string `json:"field,omitzero"` // of what was published
	Hint      string `json:"hint,omitzero"`
	Registry  string `json:"registry,omitzero"`  // its host
	Status    int    `json:"status,omitzero"`    // of the answer
	RequestID string `json:"requestId,omitzero"` // for the operator of the registry
	Evidence  string `json:"evidence,omitzero"`  // a file with two checkpoints that do not agree
}

// FailJSON writes an error for programs, and returns it. Without an error it writes nothing.
func FailJSON(w io.Writer, err error) error {
	if err == nil {
		return nil
	}
	failed := Failure{Kind: "error", Message: Advise(err.Error())}
	if ExitCode(err) == ExitUsage {
		failed.Kind = "usage"
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		failed.Kind, failed.Field, failed.Hint = string(e.Kind), e.Field, e.Hint
		failed.Registry, failed.Status, failed.RequestID, failed.Evidence = e.Host, e.Status, e.RequestID, e.Evidence
	}
	return errors.Join(err, WriteJSON(w, struct {
		Error Failure `json:"error"`
	}{failed}))
}
