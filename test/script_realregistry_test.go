package test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	registryserver "github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
)

// realRegistries are the registries of scripts as perstackd serves them, by the directory of the script.
type realRegistries struct {
	t   *testing.T
	mu  sync.Mutex // scripts run at the same time
	all map[string]*realregistry.Registry
}

// run is the command realregistry:
//
//	realregistry start                    starts a registry; its address is $REGISTRY
//	realregistry config SCOPE…            the user of $CONFIG has these scopes there, under the name acme
//	realregistry key VARIABLE ORG SCOPE…  sets a variable to a new API key of an organization
//	realregistry publish ORG FILE         publishes the Experts of a perstack.toml, in its order
//	realregistry deprecate KEY MESSAGE
//	realregistry stop
func (s *realRegistries) run(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: realregistry start | config | key | publish | deprecate | stop")
	}
	at := ts.Getenv("WORK")
	s.mu.Lock()
	r := s.all[at]
	s.mu.Unlock()
	switch args[0] {
	case "start":
		r = realregistry.Start(s.t, realregistry.Options{})
		s.mu.Lock()
		s.all[at] = r
		s.mu.Unlock()
		ts.Setenv("REGISTRY", r.URL)
		ts.Setenv("PORT", r.URL[strings.LastIndex(r.URL, ":")+1:])
	case "config":
		dir := filepath.Join(ts.Getenv("CONFIG"), "perstack")
		ts.Check(os.MkdirAll(dir, 0o700))
		config := "[registries.acme]\nurl = '" + r.URL + "'\nscopes = ['" + strings.Join(args[1:], "', '") + "']\n"
		ts.Check(os.WriteFile(filepath.Join(dir, "config.toml"), []byte(config), 0o600))
	case "key":
		ts.Setenv(args[1], r.Key(args[2], "team", args[3:]...))
	case "publish":
		c, err := client.New(client.Options{
			BaseURL: r.URL, Insecure: true, Key: r.Key(args[1], "team"), HTTP: r.Client(), Clock: time.Now,
			Trust: trust.Open(filepath.Join(ts.Getenv("TMPDIR"), "publisher")),
		})
		ts.Check(err)
		config, problems := manifest.Parse(args[2], []byte(ts.ReadFile(args[2])))
		ts.Check(problems.Err())
		for _, e := range config.Experts {
			d, err := definition.FromExpert(e)
			ts.Check(err)
			_, err = c.Publish(s.t.Context(), api.Publish{Content: d.Encode()})
			ts.Check(err)
		}
	case "deprecate":
		actor, err := r.Core.Authenticate(s.t.Context(), r.Key("acme", "team"), netip.Addr{})
		ts.Check(err)
		_, err = r.Core.Update(s.t.Context(), actor, args[1], registryserver.Update{Status: &api.SetStatus{Status: api.Deprecated, Message: args[2]}})
		ts.Check(err)
	case "stop":
		r.Close()
	default:
		ts.Fatalf("realregistry has no %s", args[0])
	}
}
