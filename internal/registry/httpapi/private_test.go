package httpapi_test

import (
	"testing"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// Our client verifies private Experts, whose leaves are sealed, and other users do not learn of them.
func testPrivate(t *testing.T, s *site) {
	r := s.Registry
	member := func(o *client.Options) { o.Key, o.PrivateScopes = r.Key("acme", "team"), []string{"@acme"} }
	publisher, reader := newClient(t, r, member), newClient(t, r, member)
	if _, err := publisher.Publish(t.Context(), api.Publish{Content: registrytest.Minimal("@acme/reader@1.0.0").Encode()}); err != nil {
		t.Fatal(err)
	}
	if _, err := publisher.Publish(t.Context(), api.Publish{Content: registrytest.Minimal("@acme/secret@1.0.0", "@acme/reader").Encode(), Tags: []string{"stable"}, Visibility: api.Private}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"@acme/secret", "@acme/secret@stable"} {
		found, err := reader.Resolve(t.Context(), key)
		if err != nil || found.Keys[key] != "@acme/secret@1.0.0" || len(found.Experts) != 2 {
			t.Errorf("%s: %v %v", key, found, err)
		}
	}
	anyone := newClient(t, r, nil)
	if _, err := anyone.Resolve(t.Context(), "@acme/secret"); client.KindOf(err) != client.NotFound {
		t.Error(err)
	}
	report, err := anyone.Audit(t.Context(), "@acme", nil)
	if err != nil || len(report.Problems) != 0 || len(report.Touching) != 1 {
		t.Errorf("%+v %v", report, err)
	}
}
