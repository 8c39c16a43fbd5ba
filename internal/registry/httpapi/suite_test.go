package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/testkit/postgres"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// The suite is what every registry answers, whatever database it has.
var suite = []struct {
	name string
	run  func(*testing.T, *site)
}{
	{"client", testClient},
	{"private", testPrivate},
	{"log", testLog},
	{"browse", testBrowse},
	{"accounts", testAccounts},
	{"moderation", testModeration},
	{"audit", testAudit},
	{"audit of refusals", testAuditRefusals},
	{"reads", testReads},
	{"S1 trailing slash", testTrailingSlash},
	{"S2 encoded and decoded keys", testKeys},
	{"S3 deletion", testDelete},
	{"S4 latest in tags", testLatestInTags},
	{"runtime in the payload", testRuntimeInPayload},
	{"S5 tags", testTags},
	{"S6 lists and names are always there", testShapes},
	{"S7 minRuntimeVersion", testRuntimeVersion},
	{"S8 lists have whole Experts", testList},
	{"S9 times and ids", testTimesAndIDs},
	{"S10 error bodies", testErrorBodies},
	{"S11 statuses", testStatuses},
	{"S12 empty update", testEmptyUpdate},
	{"status", testStatusChanges},
	{"owners", testOwners},
	{"publish refusals", testPublishRefusals},
	{"versions", testVersions},
	{"newer Experts", testNewerExperts},
	{"additions to lists", testListAdditions},
	{"card", testCard},
}

func TestSQLite(t *testing.T) {
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, newSite(t, realregistry.Options{}))
		})
	}
}

func TestPostgreSQL(t *testing.T) {
	server := postgres.Start(t)
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, newSite(t, realregistry.Options{Database: server.Database(t)}))
		})
	}
}

// A site is a registry that a test talks to as any client can.
type site struct {
	*realregistry.Registry
	t *testing.T
}

func newSite(t *testing.T, opts realregistry.Options) *site {
	t.Helper()
	return &site{realregistry.Start(t, opts), t}
}

// An answer is what a request got.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	text   string
}

// A request is one to be sent.
type request struct {
	method, path, key string
	body              any // JSON, or a string as it is
	header            map[string]string
}

func (s *site) send(r request) answer {
	s.t.Helper()
	var body io.Reader
	switch b := r.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			s.t.Fatal(err)
		}
		body = bytes.NewReader(data)
	}
	q, err := http.NewRequestWithContext(s.t.Context(), r.method, s.URL+r.path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	if r.key != "" {
		q.Header.Set("Authorization", "Bearer "+r.key)
	}
	for name, value := range r.header {
		q.Header.Set(name, value)
	}
	client := *s.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	response, err := client.Do(q)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	got := answer{s.t, response.StatusCode, response.Header, string(text)}
	checkAnswer(s.t, q, got)
	return got
}

func (s *site) get(path string) answer { return s.send(request{method: http.MethodGet, path: path}) }

// read reads an answer that is a success.
func (a answer) read(into any) {
	a.t.Helper()
	if a.status != http.StatusOK {
		a.t.Fatalf("%d %s", a.status, a.text)
	}
	if err := json.Unmarshal([]byte(a.text), into); err != nil {
		a.t.Fatalf("%v: %s", err, a.text)
	}
}

// says is the status and the reason of an answer.
func (a answer) says() string {
	if a.status == http.StatusOK {
		return "200"
	}
	var e api.Error
	if err := json.Unmarshal([]byte(a.text), &e); err != nil {
		return fmt.Sprintf("%d, and not an error: %s", a.status, a.text)
	}
	return fmt.Sprintf("%d %s: %s", e.Code, e.Message, e.Reason)
}

func (a answer) want(says string) {
	a.t.Helper()
	if got := a.says(); got != says {
		a.t.Errorf("got  %s\nwant %s", got, says)
	}
}

func (a answer) wantPrefix(says string) {
	a.t.Helper()
	if got := a.says(); !strings.HasPrefix(got, says) {
		a.t.Errorf("got  %s\nwant %s…", got, says)
	}
}

// publish publishes a minimal Expert.
func (s *site) publish(key, expert string, delegates ...string) {
	s.t.Helper()
	s.publishText(key, api.Publish{Content: registrytest.Minimal(expert, delegates...).Encode()})
}

func (s *site) publishText(key string, p api.Publish) {
	s.t.Helper()
	s.send(request{http.MethodPost, api.V2 + "/experts", key, p, nil}).want("200")
}

// object is any object of JSON.
type object = map[string]any

// at follows names and numbers into a value.
func at(value any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			o, _ := value.(object)
			value = o[step]
		case int:
			l, _ := value.([]any)
			if step >= len(l) {
				return nil
			}
			value = l[step]
		}
	}
	return value
}
