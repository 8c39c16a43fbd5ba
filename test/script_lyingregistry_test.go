package test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// lyingRegistries are the registries of scripts that can lie, by the directory of the script.
type lyingRegistries struct {
	t   *testing.T
	mu  sync.Mutex // scripts run at the same time
	all map[string]*registrytest.Registry
}

// run is the command lying-registry, with a registry in memory:
//
//	lying-registry start [SCOPE…]             starts it; the configuration of the user in $CONFIG names it for the
//	                                    scopes, and its address is $REGISTRY
//	lying-registry publish FILE [VARIABLE]    publishes the Experts of a perstack.toml, in its order; their base
//	                                    skill requires the variable, whatever it is
//	lying-registry tag NAME TAG VERSION
//	lying-registry status KEY STATUS MESSAGE REPLACEMENT
//	lying-registry requests N                 it was asked N times since the last time that this was counted
//	lying-registry change KEY FILE            shows the first Expert of a file as the content of a version
//	lying-registry rewrite FILE               tells another history from now on, in which the file was published
//	lying-registry stop
func (s *lyingRegistries) run(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: lying-registry start | publish | tag | status | requests | change | rewrite | stop")
	}
	at := ts.Getenv("WORK")
	if args[0] == "start" {
		r := registrytest.New(s.t, httptest.NewServer)
		s.mu.Lock()
		s.all[at] = r
		s.mu.Unlock()
		ts.Setenv("REGISTRY", r.URL)
		quoted := make([]string, len(args)-1)
		for i, scope := range args[1:] {
			quoted[i] = strconv.Quote(scope)
		}
		writeUserConfig(ts, fmt.Sprintf("[registries.acme]\nurl = %q\nscopes = [%s]\n", r.URL, strings.Join(quoted, ", ")))
		return
	}
	s.mu.Lock()
	r := s.all[at]
	s.mu.Unlock()
	switch args[0] {
	case "publish":
		for _, d := range definitions(ts, args[1]) {
			if len(args) > 2 {
				base := d.Skills[expert.BaseSkill]
				base.RequiredEnv = args[2:]
				d.Skills[expert.BaseSkill] = base
			}
			r.Publish(d, "")
		}
	case "tag":
		r.Tag(args[1], args[2], args[3])
	case "status":
		r.Change(func() {
			e := r.PublishedExpert(args[1])
			e.Status, e.StatusMessage, e.ReplacedBy = args[2], args[3], args[4]
		})
	case "requests":
		if got := strconv.Itoa(r.TakeRequests()); got != args[1] {
			ts.Fatalf("the registry was asked %s times, not %s", got, args[1])
		}
	case "change":
		other := definitions(ts, args[2])[0].Encode()
		lie := func(a *api.Resolved) {
			for i := range a.Experts {
				if a.Experts[i].Key() == args[1] {
					a.Experts[i].Content, a.Experts[i].Digest = other, definition.Digest(other)
				}
			}
		}
		r.Change(func() { r.Lie = lie })
	case "rewrite":
		other := r.Rewritten(httptest.NewServer)
		for _, d := range definitions(ts, args[1]) {
			other.Publish(d, "")
		}
		handle := func(w http.ResponseWriter, q *http.Request) bool {
			other.ServeHTTP(w, q)
			return true
		}
		r.Change(func() { r.Handle = handle })
	case "stop":
		// It keeps its port: the registry of another script could get it, and would be asked.
		abort := func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
		r.Change(func() { r.Handle = abort })
	default:
		ts.Fatalf("lying-registry has no %s", args[0])
	}
}

// definitions are the Experts of a perstack.toml as they are published. What a registry must refuse is
// not checked: a client has to.
func definitions(ts *testscript.TestScript, file string) (all []*definition.Definition) {
	config, problems := manifest.Parse(file, []byte(ts.ReadFile(file)))
	ts.Check(problems.Err())
	for _, e := range config.Experts {
		d, err := definition.FromExpert(e)
		ts.Check(err)
		all = append(all, d)
	}
	return all
}
