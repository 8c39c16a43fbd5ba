package httpapi_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// newClient is a client of ours, as another machine has it.
func newClient(t *testing.T, r *realregistry.Registry, change func(*client.Options)) *client.Client {
	t.Helper()
	o := client.Options{
		BaseURL: r.URL, Insecure: true, HTTP: r.Client(), Trust: trust.Open(filepath.Join(t.TempDir(), "registry")), UserAgent: "perstack/test", Clock: time.Now,
	}
	if change != nil {
		change(&o)
	}
	c, err := client.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func withKey(key string) func(*client.Options) { return func(o *client.Options) { o.Key = key } }

// Our client publishes and resolves, and verifies every answer.
func testClient(t *testing.T, s *site) {
	r := s.Registry
	publisher := newClient(t, r, withKey(r.Key("acme", "team")))
	reader := newClient(t, r, nil)
	if advice, err := publisher.ValidateOnly(t.Context(), api.Publish{Content: registrytest.Minimal("@acme/reader@1.0.0").Encode()}); err != nil || len(advice) != 1 {
		t.Error(advice, err)
	}
	if _, err := reader.Resolve(t.Context(), "@acme/reader"); client.KindOf(err) != client.NotFound {
		t.Errorf("after a dry run: %v", err)
	}
	for _, d := range [][]byte{registrytest.Minimal("@acme/reader@1.0.0").Encode(), registrytest.Minimal("@acme/lead@1.0.0", "@acme/reader").Encode()} {
		if _, err := publisher.Publish(t.Context(), api.Publish{Content: d, Tags: []string{"stable"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"@acme/lead", "@acme/lead@stable", "@acme/lead@1.0.0"} {
		found, err := reader.Resolve(t.Context(), key)
		if err != nil || found.Keys[key] != "@acme/lead@1.0.0" || len(found.Experts) != 2 {
			t.Errorf("%s: %v %v", key, found, err)
		}
	}
	who, err := publisher.Whoami(t.Context())
	if err != nil || who.Organization.Name != "acme" {
		t.Error(who, err)
	}
	if _, err := publisher.Publish(t.Context(), api.Publish{Content: registrytest.Minimal("@acme/reader@1.0.0").Encode()}); client.KindOf(err) != client.Refused {
		t.Errorf("a second time: %v", err)
	}
	if _, err := newClient(t, r, withKey("psk_key_wrong")).Publish(t.Context(), api.Publish{Content: registrytest.Minimal("@acme/reader@1.0.1").Encode()}); client.KindOf(err) != client.Unauthorized {
		t.Errorf("with a wrong key: %v", err)
	}
}
