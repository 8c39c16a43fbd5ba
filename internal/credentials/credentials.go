// Package credentials keeps the keys that the user logged in with, in one private file beside the
// user's own configuration, or in a keychain by a helper program.
//
// The file says which key is for which server, and nothing about how to reach the server: an
// address, a proxy or a certificate in it makes it invalid. A key is only returned for the origin
// that it was stored for. The file is refused if it is a link, belongs to another user, or can be
// read by others. Programs in sandboxes and file tools do not see it; internal/cli/host hides it.
//
// Start reading at [Store.Registry], then [File.Load]. helper.go starts helpers.
package credentials

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// FileName is the name of the file, in the directory of the user's own configuration.
const FileName = "credentials.json"

// Variable is the variable with a key for the default registry. It is stronger than the file.
const Variable = "PERSTACK_API_KEY"

// A Kind says what an [Entry] holds.
type Kind string

// The kinds.
const (
	KindKey    Kind = "key"    // the key itself
	KindHelper Kind = "helper" // the name of the helper that has the key
)

// An Entry is a login, as it is stored.
type Entry struct {
	Kind    Kind      `json:"kind"`
	Key     string    `json:"key,omitzero"`
	Helper  string    `json:"helper,omitzero"`  // NAME of docker-credential-NAME
	Account string    `json:"account,omitzero"` // whose key it is, for display
	Ends    time.Time `json:"ends,omitzero"`    // when the server stops to accept it; zero if never
	Stored  time.Time `json:"stored"`
}

// A Credential is a key for one server.
type Credential struct {
	Key     string
	Account string
	Ends    time.Time
	From    Source
}

// A Source says where a key comes from.
type Source string

// The sources.
const (
	FromEnvironment Source = "environment"
	FromFile        Source = "file"
	FromHelper      Source = "helper"
)

// String shows a credential without its key.
func (c Credential) String() string { return fmt.Sprintf("key from %s", c.From) }

// ErrNone is returned if there is no login for a server.
var ErrNone = errors.New("there is no login")

// An ExpiredError says that the key of a login is no longer accepted.
type ExpiredError struct {
	Origin string
	Ended  time.Time
}

func (e *ExpiredError) Error() string {
	return fmt.Sprintf("the login for %s ended at %s", e.Origin, e.Ended.UTC().Format(time.RFC3339))
}

// Secrets are told of every key, so that none is printed.
type Secrets interface{ AddKey(name, value string) }

// A Store finds keys, and stores them.
type Store struct {
	File    File
	Helpers Helpers
	Secrets Secrets
	Now     func() time.Time
}

// Registry returns the key for a registry. The environment is the value of [Variable], if it is
// meant for this registry, and empty otherwise: whether it is meant is decided by the configuration
// of registries. The error is [ErrNone] if there is no key.
func (s *Store) Registry(ctx context.Context, address, environment string) (Credential, error) {
	origin, err := Origin(address)
	if err != nil {
		return Credential{}, err
	}
	if key := strings.TrimSpace(environment); key != "" {
		s.Secrets.AddKey(Variable, key)
		if err := checkKey(key); err != nil {
			return Credential{}, fmt.Errorf("%s: %w", Variable, err)
		}
		return Credential{Key: key, From: FromEnvironment}, nil
	}
	logins, err := s.File.Load()
	if err != nil {
		return Credential{}, err
	}
	logins.Hide(s.Secrets)
	entry, ok := logins.Registries[origin]
	if !ok {
		return Credential{}, fmt.Errorf("%w for %s", ErrNone, origin)
	}
	if !entry.Ends.IsZero() && !s.Now().Before(entry.Ends) {
		return Credential{}, &ExpiredError{origin, entry.Ends}
	}
	found := Credential{Key: entry.Key, Account: entry.Account, Ends: entry.Ends, From: FromFile}
	if entry.Kind == KindHelper {
		answer, err := s.Helpers.Get(ctx, entry.Helper, origin)
		if err != nil {
			return Credential{}, err
		}
		s.Secrets.AddKey(secretName(origin), answer.Secret)
		found.Key, found.Account, found.From = answer.Secret, cmp.Or(entry.Account, answer.Username), FromHelper
	}
	return found, nil
}

// A Login is a key that the user got from a server.
type Login struct {
	Key     string
	Account string
	Ends    time.Time
	Helper  string // where to put the key; empty for the file
}

// Login stores a key for a registry, in place of the one before.
func (s *Store) Login(ctx context.Context, address string, l Login) error {
	origin, err := Origin(address)
	if err != nil {
		return err
	}
	s.Secrets.AddKey(secretName(origin), l.Key)
	if err := checkKey(l.Key); err != nil {
		return err
	}
	entry := Entry{Kind: KindKey, Key: l.Key, Account: l.Account, Ends: l.Ends.UTC(), Stored: s.Now().UTC().Truncate(time.Second)}
	if l.Helper != "" {
		entry.Kind, entry.Key, entry.Helper = KindHelper, "", l.Helper
	}
	if err := entry.check(); err != nil {
		return err
	}
	if l.Helper != "" {
		// The name must not be empty, and the registry does not use it.
		if err := s.Helpers.Store(ctx, l.Helper, Answer{ServerURL: origin, Username: cmp.Or(l.Account, "perstack"), Secret: l.Key}); err != nil {
			return err
		}
	}
	var before Entry
	err = s.File.change(ctx, func(all *Logins) error {
		before = all.Registries[origin]
		if all.Registries == nil {
			all.Registries = make(map[string]Entry)
		}
		all.Registries[origin] = entry
		return nil
	})
	if err == nil && before.Kind == KindHelper && before.Helper != l.Helper {
		// The older key would stay in the keychain, and no file would name it.
		err = s.Helpers.Erase(ctx, before.Helper, origin)
	}
	return err
}

// Logout forgets the key of a registry, and reports whether there was one. The entry is removed even
// if its helper fails: the error says that the key can still be in the keychain.
func (s *Store) Logout(ctx context.Context, address string) (found bool, err error) {
	origin, err := Origin(address)
	if err != nil {
		return false, err
	}
	if all, err := s.File.Load(); err != nil || all.Registries[origin].Kind == "" {
		return false, err // no file is made for nothing
	}
	var entry Entry
	err = s.File.change(ctx, func(all *Logins) error {
		entry, found = all.Registries[origin]
		delete(all.Registries, origin)
		return nil
	})
	if err == nil && entry.Kind == KindHelper {
		err = s.Helpers.Erase(ctx, entry.Helper, origin)
	}
	return found, err
}

// secretName is what is printed in place of the key of a server.
func secretName(server string) string {
	return "login-" + strings.TrimPrefix(strings.TrimPrefix(server, "https://"), "http://")
}
