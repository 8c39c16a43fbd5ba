// Package httpapi speaks HTTP for a registry: version 1 of the API for the original clients, version 2 for
// ours, the log, and what an operator needs. The rules of a registry are in package server; this one reads
// requests, writes answers, and limits both.
//
// Every route is a row of a table, which the OpenAPI document is compared with. Collections are served with
// and without a slash at the end, and a key is one escaped segment, or as a proxy has unescaped it. Start
// reading at [New], then routes.go.
package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// Options are what the HTTP side of a registry needs.
type Options struct {
	Registry *server.Registry
	LogKeys  []string // verifier keys of the log, the one in use first
	Origin   string   // of the log
	Policy   string   // address of a page about the rules of this registry
	Contact  string

	Logger *slog.Logger
	Now    func() time.Time
	NewID  func() string

	// ReadOnly refuses every change.
	ReadOnly bool
	// VerboseErrors adds the reason to the word for the status in version 1: the original command line
	// prints nothing else.
	VerboseErrors bool
	// Proxies are those whose word about the address of a client counts.
	Proxies []netip.Prefix

	// Pages answers what is not for programs; nil if there are none.
	Pages http.Handler

	// Builds verifies tokens of builds; nil if none are accepted.
	Builds Builds
	Limits Limits
	// Witnesses says what became of the cosignatures; nil if the registry has no witnesses.
	Witnesses func() []WitnessState
	// RequestTimeout is how long a request and its answer can take, and BodyTimeout how long its body; 0 is
	// 30 and 20 seconds.
	RequestTimeout, BodyTimeout time.Duration
	// Heavy is how many answers with much in them are made at once: resolved Experts, lists and pages. 0 is 8.
	Heavy int
}

// A WitnessState is what became of the requests to one witness.
type WitnessState struct {
	Key                     string // verifier key
	ID                      string // name and number of the key
	Size                    int64  // of the newest checkpoint that it has cosigned; 0 if there is none
	Stored, Failed, Refused int64  // cosignatures, requests without an answer that can be used, and refusals
}

// A Handler answers the requests of a registry.
type Handler struct {
	opts    Options
	routes  []*route
	ledger  *ledger
	metrics *metrics
	slots   chan struct{} // of requests of heavy routes
	unread  *budget       // of large answers that are being sent
}

// The usual timeouts.
const (
	defaultRequestTimeout = 30 * time.Second
	defaultBodyTimeout    = 20 * time.Second
)

// New returns the HTTP side of a registry.
func New(opts Options) (*Handler, error) {
	if opts.Registry == nil || opts.Logger == nil || opts.Now == nil || opts.NewID == nil || opts.Origin == "" || len(opts.LogKeys) == 0 {
		return nil, errors.New("the HTTP side of a registry needs a registry, its log, a logger, a clock and ids")
	}
	if opts.RequestTimeout <= 0 {
		opts.RequestTimeout = defaultRequestTimeout
	}
	if opts.BodyTimeout <= 0 {
		opts.BodyTimeout = defaultBodyTimeout
	}
	if opts.Heavy <= 0 {
		opts.Heavy = defaultHeavy
	}
	h := &Handler{
		opts: opts, ledger: &ledger{buckets: map[string]*bucket{}}, metrics: newMetrics(),
		slots: make(chan struct{}, opts.Heavy), unread: &budget{left: maxUnread},
	}
	h.routes = h.table()
	return h, nil
}

func (h *Handler) witnesses() []WitnessState {
	if h.opts.Witnesses == nil {
		return nil
	}
	return h.opts.Witnesses()
}

// discovery says what this registry is.
func (h *Handler) discovery(c *call) error {
	var issuers []string
	if h.opts.Builds != nil {
		issuers = h.opts.Builds.Issuers()
	}
	var witnesses []string
	for _, w := range h.witnesses() {
		witnesses = append(witnesses, w.Key)
	}
	return c.json(api.Discovery{
		Issuers: issuers, API: api.V2, Log: api.Log{Origin: h.opts.Origin, Path: api.LogPath, Keys: h.opts.LogKeys, Witnesses: witnesses},
		Policy: h.opts.Policy, Contact: h.opts.Contact,
	})
}

// health says that the program runs.
func (h *Handler) health(c *call) error { return c.json(map[string]string{"status": "ok"}) }

// notReady is the answer while the database cannot be used.
func notReady() error {
	return &server.Error{Status: http.StatusServiceUnavailable, Reason: "The database cannot be used"}
}
