// Package realregistry starts a registry as perstackd serves it, on loopback, with SQLite in a directory of
// the test. Tests of clients and of commands use it; a registry that lies is in package registrytest.
//
// Start reading at [Start], then [Registry.Key].
package realregistry

import (
	"crypto/rand"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/httpapi"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/registry/server/database"
)

// Origin is that of the log, and the name of its key.
const Origin = "registry.example/log"

// A Registry is a real one.
type Registry struct {
	*httptest.Server

	Core     *server.Registry
	LogKey   string // verifier key
	AdminKey string // API key that manages the registry

	t    testing.TB
	mu   sync.Mutex
	time time.Time // of its clock
}

// Options change a registry before it starts.
type Options struct {
	Database string // postgres://…; empty is SQLite
	TLS      bool
	Core     func(*server.Options)
	HTTP     func(*httpapi.Options)
	Made     func(*httpapi.Handler) // gets the handler
}

// Start starts a registry without limits, which ends with the test.
func Start(t testing.TB, opts Options) *Registry {
	t.Helper()
	r := &Registry{t: t, time: time.Now()}
	if opts.Database == "" {
		opts.Database = filepath.Join(t.TempDir(), "registry.db")
	}
	db, err := database.Open(t.Context(), opts.Database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	secret, public, err := note.GenerateKey(rand.Reader, Origin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	source := engine.SystemSource()
	r.LogKey = public
	core := server.Options{Database: db, Origin: Origin, Signer: signer, PublicKey: public, Random: rand.Reader, Now: r.now, NewID: source.NewID}
	if opts.Core != nil {
		opts.Core(&core)
	}
	if r.Core, err = server.New(core); err != nil {
		t.Fatal(err)
	}
	if r.AdminKey, err = r.Core.Bootstrap(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := httpapi.Options{
		Registry: r.Core, LogKeys: []string{public}, Origin: Origin, Logger: slog.New(slog.DiscardHandler), Now: r.now, NewID: source.NewID,
	}
	if opts.HTTP != nil {
		opts.HTTP(&o)
	}
	handler, err := httpapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if opts.Made != nil {
		opts.Made(handler)
	}
	if opts.TLS {
		r.Server = httptest.NewTLSServer(handler)
	} else {
		r.Server = httptest.NewServer(handler)
	}
	t.Cleanup(r.Close)
	return r
}

// now is a clock that does not depend on how long a test takes: a millisecond passes at each look.
func (r *Registry) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.time = r.time.Add(time.Millisecond)
	return r.time
}

// Pass lets time pass.
func (r *Registry) Pass(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.time = r.time.Add(d)
}

// Key returns a new API key of an organization, which is made if it does not exist: a team if its Experts have
// its name as their scope. Without scopes the key can do everything that an organization can.
func (r *Registry) Key(org, kind string, scopes ...string) string {
	r.t.Helper()
	all, err := r.Core.Organizations(r.t.Context(), server.Operator())
	if err != nil {
		r.t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(o api.Organization) bool { return o.Name == org }) {
		if _, err := r.Core.CreateOrganization(r.t.Context(), server.Operator(), org, kind); err != nil {
			r.t.Fatal(err)
		}
	}
	if len(scopes) == 0 {
		for _, s := range server.Scopes() {
			scopes = append(scopes, string(s))
		}
	}
	made, err := r.Core.CreateKey(r.t.Context(), server.Operator(), api.CreateKey{Organization: org, Scopes: scopes})
	if err != nil {
		r.t.Fatal(err)
	}
	return made.Token
}
