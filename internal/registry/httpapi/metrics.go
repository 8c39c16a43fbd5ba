package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A series is one combination of labels.
type series struct{ method, route, code string }

// bounds are the upper bounds of the histogram of durations, in seconds.
var bounds = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// metrics counts what was answered. There is one series for each route, method and status, whatever clients
// ask for.
type metrics struct {
	mu       sync.Mutex
	requests map[series]int64
	buckets  []int64 // of bounds; the last is without one
	sum      float64
	count    int64
	bytes    int64
	inFlight int64
}

func newMetrics() *metrics {
	return &metrics{requests: map[series]int64{}, buckets: make([]int64, len(bounds)+1)}
}

func (m *metrics) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight++
}

func (m *metrics) end(s series, took time.Duration, bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight--
	m.requests[s]++
	m.sum += took.Seconds()
	m.count++
	m.bytes += bytes
	at, _ := slices.BinarySearch(bounds, took.Seconds())
	m.buckets[at]++
}

// openMetrics is the type of the text.
const openMetrics = "application/openmetrics-text; version=1.0.0; charset=utf-8"

// Metrics serves what is counted, in the form of OpenMetrics. It belongs on an address of its own, which
// clients do not reach.
func (h *Handler) Metrics() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", openMetrics)
		_, _ = w.Write([]byte(h.metrics.text(h.logSize(r), h.witnesses())))
	})
}

// text writes the metrics.
func (m *metrics) text(leaves int64, witnesses []WitnessState) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var b strings.Builder
	family := func(name, kind, help string) {
		fmt.Fprintf(&b, "# TYPE %s %s\n# HELP %s %s\n", name, kind, name, help)
	}
	family("perstack_registry_requests", "counter", "Requests that were answered.")
	all := make([]series, 0, len(m.requests))
	for s := range m.requests {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b series) int {
		return cmp.Or(strings.Compare(a.route, b.route), strings.Compare(a.method, b.method), strings.Compare(a.code, b.code))
	})
	for _, s := range all {
		fmt.Fprintf(&b, "perstack_registry_requests_total{method=%q,route=%q,code=%q} %d\n", s.method, s.route, s.code, m.requests[s])
	}
	family("perstack_registry_request_seconds", "histogram", "How long answers took.")
	var sum int64
	for i, n := range m.buckets {
		sum += n
		bound := "+Inf"
		if i < len(bounds) {
			bound = fmt.Sprint(bounds[i])
		}
		fmt.Fprintf(&b, "perstack_registry_request_seconds_bucket{le=%q} %d\n", bound, sum)
	}
	fmt.Fprintf(&b, "perstack_registry_request_seconds_sum %g\nperstack_registry_request_seconds_count %d\n", m.sum, m.count)
	family("perstack_registry_sent_bytes", "counter", "Bytes of all answers.")
	fmt.Fprintf(&b, "perstack_registry_sent_bytes_total %d\n", m.bytes)
	family("perstack_registry_in_flight", "gauge", "Requests that are being answered.")
	fmt.Fprintf(&b, "perstack_registry_in_flight %d\n", m.inFlight)
	if leaves >= 0 {
		family("perstack_registry_log_leaves", "gauge", "Leaves of the transparency log.")
		fmt.Fprintf(&b, "perstack_registry_log_leaves %d\n", leaves)
	}
	writeWitnesses(&b, witnesses, family)
	b.WriteString("# EOF\n")
	return b.String()
}

// writeWitnesses writes what became of the requests to witnesses.
func writeWitnesses(b *strings.Builder, all []WitnessState, family func(name, kind, help string)) {
	if len(all) == 0 {
		return
	}
	family("perstack_registry_cosignature_requests", "counter", "Requests to witnesses, by what became of them.")
	for _, w := range all {
		for _, of := range []struct {
			outcome string
			count   int64
		}{{"stored", w.Stored}, {"failed", w.Failed}, {"refused", w.Refused}} {
			fmt.Fprintf(b, "perstack_registry_cosignature_requests_total{witness=%q,outcome=%q} %d\n", w.ID, of.outcome, of.count)
		}
	}
	family("perstack_registry_cosigned_leaves", "gauge", "Leaves of the newest checkpoint that a witness has cosigned.")
	for _, w := range all {
		fmt.Fprintf(b, "perstack_registry_cosigned_leaves{witness=%q} %d\n", w.ID, w.Size)
	}
}

// logSize is how many leaves the log has; -1 if that cannot be known now.
func (h *Handler) logSize(r *http.Request) int64 {
	note, err := h.opts.Registry.Checkpoint(r.Context())
	lines := strings.Split(string(note), "\n")
	if err != nil || len(lines) < 2 {
		return -1
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return -1
	}
	return size
}
