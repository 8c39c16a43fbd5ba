package httpapi_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/httpapi"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/testkit/realregistry"
)

func limited(t *testing.T, limits httpapi.Limits) *site {
	t.Helper()
	return newSite(t, realregistry.Options{HTTP: func(o *httpapi.Options) { o.Limits = limits }})
}

// A client that asks too often is told when to ask again, and then it can.
func TestReadLimits(t *testing.T) {
	s := limited(t, httpapi.Limits{ReadsPerMinute: 3, ReadsPerHour: 5, KeyReadsPerMinute: 4})
	for left := 2; left >= 0; left-- {
		got := s.get(experts1)
		if got.status != http.StatusOK || got.header.Get("RateLimit-Limit") != "3" || got.header.Get("RateLimit-Remaining") != fmt.Sprint(left) {
			t.Fatalf("%d left: %d %v", left, got.status, got.header)
		}
	}
	got := s.get(experts1)
	got.wantPrefix("429 Too Many Requests: Too many requests; try again in 20 seconds")
	if got.header.Get("Retry-After") != "20" || got.header.Get("RateLimit-Remaining") != "0" {
		t.Error(got.header)
	}
	key := s.Key("acme", "team")
	for range 4 { // a key has limits of its own
		s.send(request{method: http.MethodGet, path: experts1, key: key}).want("200")
	}
	if got := s.send(request{method: http.MethodGet, path: experts1, key: key}); got.status != http.StatusTooManyRequests {
		t.Error(got.says())
	}
	s.Pass(time.Minute)
	s.get(experts1).want("200")
	s.get(experts1).want("200")
	if got := s.get(experts1); got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("after five requests in an hour: %s", got.says())
	}
	for range 20 {
		s.get("/healthz").want("200")
	}
}

// Publications of an organization are counted, whatever key it uses.
func TestPublishLimits(t *testing.T) {
	s := limited(t, httpapi.Limits{PublishesPerHour: 2, PublishesPerDay: 3})
	first, second := s.Key("acme", "team"), s.Key("acme", "team")
	s.publish(first, "@acme/a@1.0.0")
	s.publish(second, "@acme/a@1.0.1")
	s.create(first, payload("@acme/a", "1.0.2", nil)).wantPrefix("429 Too Many Requests")
	s.publish(s.Key("ann", "personal"), "helper@1.0.0")
	s.Pass(time.Hour)
	s.publish(first, "@acme/a@1.0.2")
	got := s.create(first, payload("@acme/a", "1.0.3", nil))
	got.wantPrefix("429 Too Many Requests")
	s.Pass(24 * time.Hour)
	s.publish(first, "@acme/a@1.0.3")
}

// A key that may not publish uses up what it has, not what its organization has. A key can always be revoked.
func TestRefusedChanges(t *testing.T) {
	s := limited(t, httpapi.Limits{PublishesPerHour: 3, PublishesPerDay: 3})
	owner := s.Key("acme", "team")
	org := "acme"
	reader, err := s.Core.CreateKey(t.Context(), server.Operator(), api.CreateKey{Organization: org, Scopes: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		s.create(reader.Token, payload("@acme/a", "1.0.0", nil)).want("401 Unauthorized: Failed to authenticate")
	}
	s.create(reader.Token, payload("@acme/a", "1.0.0", nil)).wantPrefix("429 Too Many Requests")
	s.create(owner, "not JSON").wantPrefix("422 ") // it counts for the key
	for _, version := range []string{"1.0.0", "1.0.1", "1.0.2"} {
		s.publish(owner, "@acme/a@"+version)
	}
	s.create(owner, payload("@acme/a", "1.0.3", nil)).wantPrefix("429 Too Many Requests")
	s.send(request{method: http.MethodDelete, path: api.V2 + "/keys/" + reader.Key.ID, key: owner}).want("200")
}

// An organization takes a number of new names a day; new versions are not among them.
func TestNewNames(t *testing.T) {
	s := newSite(t, realregistry.Options{Core: func(o *server.Options) { o.NewNamesPerDay = 2 }})
	key := s.Key("acme", "team")
	s.publish(key, "@acme/a@1.0.0")
	s.publish(key, "@acme/b@1.0.0")
	got := s.create(key, payload("@acme/c", "1.0.0", nil))
	got.want("429 Too Many Requests: An organization can publish 2 new names a day")
	if got.header.Get("Retry-After") != "3600" {
		t.Error(got.header)
	}
	s.publish(key, "@acme/a@1.0.1")
	s.publish(s.Key("ann", "personal"), "helper@1.0.0")
	s.Pass(25 * time.Hour)
	s.publish(key, "@acme/c@1.0.0")
}

// An address that tries keys is refused for a quarter of an hour, with good keys too.
func TestFailureLimits(t *testing.T) {
	s := limited(t, httpapi.Limits{FailuresPerMinute: 3})
	key := s.Key("acme", "team")
	whoami := func(key string) answer {
		return s.send(request{method: http.MethodGet, path: api.V2 + "/whoami", key: key})
	}
	for range 3 {
		whoami("psk_key_wrong").want("401 Unauthorized: Failed to authenticate")
	}
	got := whoami(key)
	got.wantPrefix("429 Too Many Requests")
	if got.header.Get("Retry-After") != "900" {
		t.Error(got.header)
	}
	s.get(experts1).want("200") // without a key
	s.Pass(15 * time.Minute)
	whoami(key).want("200")
}

// What a proxy says about the address of a client counts if it is ours, and nothing that the client adds.
func TestAddresses(t *testing.T) {
	var log lockedBuffer
	proxies := func(o *httpapi.Options) {
		o.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("10.0.0.0/8")}
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	}
	for name, c := range map[string]struct {
		change func(*httpapi.Options)
		said   string
		want   string
	}{
		"no proxy":       {func(o *httpapi.Options) { proxies(o); o.Proxies = nil }, "203.0.113.9", "127.0.0.1"},
		"proxy":          {proxies, "203.0.113.9", "203.0.113.9"},
		"invented":       {proxies, "198.51.100.1, 203.0.113.9", "203.0.113.9"},
		"two proxies":    {proxies, "203.0.113.9, 10.1.2.3", "203.0.113.9"},
		"IPv6":           {proxies, "2001:db8::1", "2001:db8::1"},
		"mapped":         {proxies, "::ffff:203.0.113.9", "203.0.113.9"},
		"not an address": {proxies, "unknown", "127.0.0.1"},
		"nothing":        {proxies, "", "127.0.0.1"},
	} {
		log.reset()
		s := newSite(t, realregistry.Options{HTTP: c.change})
		s.send(request{method: http.MethodGet, path: "/healthz", header: map[string]string{"X-Forwarded-For": c.said}}).want("200")
		if !strings.Contains(log.String(), "address="+c.want+"\n") && !strings.Contains(log.String(), "address="+c.want+" ") {
			t.Errorf("%s: %s", name, log.String())
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(data)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *lockedBuffer) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b.Reset()
}

// The log says what was asked and by which key, and never the key itself, a query or a body.
func TestLogHasNoSecrets(t *testing.T) {
	var log lockedBuffer
	s := newSite(t, realregistry.Options{HTTP: func(o *httpapi.Options) { o.Logger = slog.New(slog.NewJSONHandler(&log, nil)) }})
	key := s.Key("acme", "team")
	s.publish(key, "@acme/a@1.0.0")
	s.send(request{method: http.MethodGet, path: api.V2 + "/whoami", key: key}).want("200")
	s.send(request{method: http.MethodGet, path: api.V2 + "/whoami", key: key[:len(key)-1]}).wantPrefix("401")
	s.get(experts1 + "?filter=canary-query")
	s.get(experts1 + "/%0a%1b%5b31mevil").wantPrefix("422")
	got := log.String()
	secret := strings.Split(key, "_")[3]
	for _, never := range []string{secret, key, "canary-query", "You are", "\x1b", "[31m\\n"} {
		if strings.Contains(got, never) {
			t.Errorf("the log has %q", never)
		}
	}
	for _, want := range []string{`"organization":"acme"`, `"status":401`, `"path":"/api/registry/v2/experts"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the log does not have %s: %s", want, got)
		}
	}
}

// A body that does not come is given up, and one without end is cut.
func TestSlowAndEndlessBodies(t *testing.T) {
	s := newSite(t, realregistry.Options{HTTP: func(o *httpapi.Options) { o.BodyTimeout = 50 * time.Millisecond }})
	key := s.Key("acme", "team")
	connection, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", experts1, key)
	answer, err := io.ReadAll(connection)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") || !strings.Contains(string(answer), "The body took too long") {
		t.Errorf("%v %s", err, answer)
	}
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+experts1, io.MultiReader(strings.NewReader(`{"name":"`), endless{}))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+key)
	patient := newSite(t, realregistry.Options{})
	q.URL.Host = patient.Listener.Addr().String()
	q.Header.Set("Authorization", "Bearer "+patient.Key("acme", "team"))
	response, err := s.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("an endless body: %d", response.StatusCode)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// Metrics are in the form of OpenMetrics, one series for each route, whatever clients ask for.
func TestMetrics(t *testing.T) {
	var handler *httpapi.Handler
	s := newSite(t, realregistry.Options{Made: func(h *httpapi.Handler) { handler = h }})
	s.publish(s.Key("acme", "team"), "@acme/a@1.0.0")
	for _, path := range []string{"/a", "/b", "/c"} {
		s.get(experts1 + path).want("404 Not Found: Expert not found")
	}
	s.get("/nothing/here").wantPrefix("404")
	w := httptest.NewRecorder()
	handler.Metrics().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	got := w.Body.String()
	for _, want := range []string{
		"# TYPE perstack_registry_requests counter\n",
		`perstack_registry_requests_total{method="GET",route="/api/registry/v1/experts/{key}",code="404"} 3` + "\n",
		`perstack_registry_requests_total{method="POST",route="/api/registry/v2/experts",code="200"} 1` + "\n",
		`perstack_registry_requests_total{method="",route="",code="404"} 1` + "\n",
		`perstack_registry_request_seconds_bucket{le="+Inf"} 5` + "\n",
		"perstack_registry_request_seconds_count 5\n",
		"perstack_registry_in_flight 0\n",
		"perstack_registry_log_leaves 3\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if !strings.HasSuffix(got, "# EOF\n") || !strings.HasPrefix(w.Header().Get("Content-Type"), "application/openmetrics-text") {
		t.Error(w.Header(), got)
	}
	s.get("/metrics").want("404 Not Found: There is nothing at this path")
}
