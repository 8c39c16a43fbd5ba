package client

import (
	"net/http/httptest"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// Whatever a registry answers, what is accepted is what was published.
func FuzzResolved(f *testing.F) {
	r := published(f)
	o := options(f, r)
	var honest []byte
	r.Lie = func(a *api.Resolved) {
		var err error
		if honest, err = json.Marshal(a); err != nil {
			f.Error(err)
		}
	}
	c := open(f, o)
	found, err := c.Resolve(f.Context(), "@acme/lead@stable")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(honest)
	f.Add([]byte(`{"checkpoint":"","experts":[{"name":"a","version":"1.0.0","entry":{"index":-1,"leaf":"","proof":[]}}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var answer api.Resolved
		if c.decode("resolve", body, &answer) != nil {
			return
		}
		v, err := c.view(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at, err := c.checkpoint(t.Context(), v, "resolve", answer.Checkpoint, answer.Growth)
		if err != nil {
			return
		}
		check := &verification{client: c, operation: "resolve", at: at, names: map[string]trust.Name{}}
		got, err := check.resolved([]string{"@acme/lead@stable"}, &answer)
		if err != nil {
			return
		}
		for key, e := range got.Experts {
			if want := found.Experts[key]; want == nil || want.Digest != e.Digest {
				t.Errorf("%s was never published so: %s", key, e.Content)
			}
		}
	})
}

// An error body of a registry can be anything.
func FuzzRefusal(f *testing.F) {
	c := open(f, options(f, published(f)))
	f.Add([]byte(`{"code":400,"error":"Bad Request","reason":{"a":[1]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		response := httptest.NewRecorder().Result()
		response.StatusCode = 400
		if e := c.refusal(request{operation: "x"}, response, body); len(e.Error()) > 8*maxShown {
			t.Errorf("%d bytes", len(e.Error()))
		}
	})
}

// closureOf10 is a registry with a coordinator and nine delegates.
func closureOf10(b *testing.B) *registrytest.Registry {
	r := registrytest.New(b, httptest.NewServer)
	var delegates []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i"} {
		r.Publish(registrytest.Minimal(name+"@1.0.0"), "")
		delegates = append(delegates, name)
	}
	r.Publish(registrytest.Minimal("lead@1.0.0", delegates...), "")
	return r
}

// A pinned closure of 10 needs no request.
func BenchmarkOffline(b *testing.B) {
	r := closureOf10(b)
	c := open(b, options(b, r))
	found, err := c.Resolve(b.Context(), "lead")
	if err != nil {
		b.Fatal(err)
	}
	pin := Pin{"lead@1.0.0", found.Experts["lead@1.0.0"].Digest}
	r.Close()
	for b.Loop() {
		if again, err := c.Offline(b.Context(), pin); err != nil || len(again.Experts) != 10 {
			b.Fatal(err)
		}
	}
}

// A cold closure of 10 is one request if the log key is configured.
func BenchmarkCold(b *testing.B) {
	r := closureOf10(b)
	for b.Loop() {
		o := options(b, r)
		o.LogKey = r.LogKey
		before := len(r.Paths())
		if found, err := open(b, o).Resolve(b.Context(), "lead"); err != nil || len(found.Experts) != 10 {
			b.Fatal(err)
		}
		if n := len(r.Paths()) - before; n != 1 {
			b.Fatalf("%d requests", n)
		}
	}
}
