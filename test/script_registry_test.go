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

// scriptRegistries are the registries of scripts as perstackd serves them, by the directory of the script.
type scriptRegistries struct {
	t   *testing.T
	mu  sync.Mutex // scripts run at the same time
	all map[string]*realregistry.Registry
}

// run is the command registry:
//
//	registry start [ORG]              starts a registry; its address is $REGISTRY. With an organization, it
//	                                  is the default registry of the user of $CONFIG, who becomes the
//	                                  user of the script, and $REGISTRY_KEY is an API key of that team
//	registry config SCOPE…            the user of $CONFIG has these scopes there, under the name acme
//	registry key VARIABLE ORG SCOPE…  sets a variable to a new API key of an organization
//	registry admin VARIABLE           sets a variable to the API key of the operator
//	registry publish ORG FILE         publishes the Experts of a perstack.toml, in its order
//	registry deprecate KEY MESSAGE
//	registry stop
func (s *scriptRegistries) run(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: registry start | config | key | admin | publish | deprecate | stop")
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
		if len(args) > 1 {
			writeUserConfig(ts, "[registries.default]\nurl = '"+r.URL+"'\n")
			ts.Setenv("XDG_CONFIG_HOME", ts.Getenv("CONFIG"))
			ts.Setenv("REGISTRY_KEY", r.Key(args[1], "team"))
		}
	case "config":
		writeUserConfig(ts, "[registries.acme]\nurl = '"+r.URL+"'\nscopes = ['"+strings.Join(args[1:], "', '")+"']\n")
	case "key":
		ts.Setenv(args[1], r.Key(args[2], "team", args[3:]...))
	case "admin":
		ts.Setenv(args[1], r.AdminKey)
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
		ts.Fatalf("registry has no %s", args[0])
	}
}

// writeUserConfig writes the configuration of the user of $CONFIG.
func writeUserConfig(ts *testscript.TestScript, text string) {
	dir := filepath.Join(ts.Getenv("CONFIG"), "perstack")
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(os.WriteFile(filepath.Join(dir, "config.toml"), []byte(text), 0o600))
}
