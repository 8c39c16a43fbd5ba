package published_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// A registry can say anything. What is not a version is not one that a screen shows, or that a command changes.
func TestNoVersions(t *testing.T) {
	w := newWorld(t, file)
	w.registry.Handle = func(out http.ResponseWriter, q *http.Request) bool {
		if !strings.HasPrefix(q.URL.Path, api.V2+"/experts/") {
			return false
		}
		p := api.Package{Name: "@acme/lead"}
		for _, version := range []string{"1.0.0", "\x1b[2J", "", "1.0.0\n2.0.0", "latest", "1.0.0+x", "v1.0.0", "1.0"} {
			p.Versions = append(p.Versions, api.Version{Version: version, Status: api.Available})
		}
		p.Versions = append(p.Versions, api.Version{Version: "2.0.0", Status: api.Unpublished})
		registrytest.Answer(out, p)
		return true
	}
	s, err := published.Open(t.Context(), &host.Host{Dir: w.dir, Home: w.home, Environ: w.environ, Source: engine.SystemSource()}, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Registry(t.Context(), "@acme/lead")
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.Package(t.Context(), "@acme/lead")
	if err != nil || len(p.Versions) != 1 || p.Versions[0].Version != "1.0.0" {
		t.Errorf("%+v, %v", p, err)
	}
}
