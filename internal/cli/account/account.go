// Package account is the commands about logins for registries: login, logout and whoami.
//
// A key is read from the terminal without showing it, or from standard input, and never from an
// argument, which other users could see. It is stored after the registry has accepted it. No output has a
// key; a list shows the last four characters. Start reading at [NewLogin].
package account

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/credentials"
	"github.com/perstack-go/perstack/internal/registry/scopes"
	"github.com/perstack-go/perstack/internal/sandbox"
	"github.com/perstack-go/perstack/model"
)

// A session is what the commands have in common.
type session struct {
	host       *host.Host
	registries *host.Registries
	logins     *credentials.Store
	commands   *sandbox.Supervisor // starts programs that keep keys
}

func open(h *host.Host) (*session, error) {
	s := &session{host: h, commands: sandbox.NewSupervisor()}
	var err error
	if s.registries, err = h.OwnRegistries(); err != nil {
		return nil, err
	}
	if s.logins, err = h.Credentials("", "", s.commands); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *session) close(err *error) { *err = errors.Join(*err, s.commands.Close()) }

// runtimes are the programs of others that run Experts. They have logins of their own.
var runtimes = map[string]bool{"docker": true, "local": true, "claude-code": true, "codex": true, "cursor": true, "gemini": true}

// choose returns the registry that an argument names.
func (s *session) choose(name string) (scopes.Decision, error) {
	d, err := s.registries.ChooseRegistry(name)
	if unknown, ok := errors.AsType[*scopes.UnknownError](err); ok {
		switch {
		case model.CheckProvider(unknown.Name) == nil:
			return d, host.Usagef("a login for the provider %s is not available yet; set its key in the environment, as docs/providers.md says", unknown.Name)
		case runtimes[unknown.Name]:
			return d, host.Usagef("a login for the runtime %s is not available yet; log in with its own program", unknown.Name)
		}
	}
	return d, err
}

// one makes the Args of a command that takes a registry.
func one(verb string) cobra.PositionalArgs {
	return host.AtMost(1, func([]string) error {
		return host.Usagef("%s takes one registry: its name in your configuration, or its address; a key is never an argument", verb)
	})
}
