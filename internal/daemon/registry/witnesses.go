package registry

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/registry/httpapi"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/witness"
)

// The bounds of witnesses. Their signatures are in every checkpoint.
const (
	maxWitnesses     = 16
	maxWitnessAnswer = 64 << 10
	// pushInterval is how often a registry looks whether another process added to its log, or a witness is back.
	pushInterval = 10 * time.Second
)

// parseWitnesses reads the flags --witness: a key and an address each.
func parseWitnesses(texts []string) (all []witness.Peer, err error) {
	if len(texts) > maxWitnesses {
		return nil, host.Usagef("a registry can have %d witnesses", maxWitnesses)
	}
	for _, text := range texts {
		key, address, ok := strings.Cut(text, " ")
		w, err := tlog.ParseWitness(key)
		if !ok || err != nil {
			return nil, host.Usagef("--witness must be the key of a witness and its address, like 'example.com/w1+1a2b3c4d+BAbC… https://example.com/w1', not %q", text)
		}
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return nil, host.Usagef("--witness %s: the address must be like https://example.com/w1", w.ID())
		}
		for _, other := range all {
			if other.Witness.Same(w) {
				return nil, host.Usagef("--witness %s is there twice", w.ID())
			}
		}
		origin := &url.URL{Scheme: u.Scheme, Host: u.Host}
		all = append(all, witness.Peer{
			Witness: w, URL: address, HTTP: egress.Client(egress.Policy{Origin: origin, AllowPrivate: true, MaxBody: maxWitnessAnswer}),
		})
	}
	return all, nil
}

// A cosigning asks witnesses to cosign the log of a registry. It is nil if there are none.
type cosigning struct {
	pusher *witness.Pusher
	grew   chan struct{}
}

func newGrowth() chan struct{} { return make(chan struct{}, 1) }

// signal says that the log grew. It never waits.
func signal(grew chan<- struct{}) func() {
	return func() {
		select {
		case grew <- struct{}{}:
		default: // the pusher has not yet looked after the last one
		}
	}
}

// newCosigning returns what asks the witnesses. A registry that is read-only stores no cosignatures.
func (o *options) newCosigning(core *server.Registry, peers []witness.Peer, grew chan struct{}, logger *slog.Logger) *cosigning {
	if len(peers) == 0 || o.readOnly {
		return nil
	}
	return &cosigning{witness.NewPusher(core, logger, o.host.Source.Now, peers...), grew}
}

// states says what became of the requests.
func (c *cosigning) states() []httpapi.WitnessState {
	if c == nil {
		return nil
	}
	var all []httpapi.WitnessState
	for _, s := range c.pusher.States() {
		all = append(all, httpapi.WitnessState{
			Key: s.Witness.String(), ID: s.Witness.ID(), Size: s.Size, Stored: s.Stored, Failed: s.Failed, Refused: s.Refused,
		})
	}
	return all
}

// start asks until stop is called.
func (c *cosigning) start(ctx context.Context) (stop func()) {
	if c == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	ticker := time.NewTicker(pushInterval)
	go func() {
		defer close(ended)
		c.pusher.Run(ctx, c.grew, ticker.C)
	}()
	return func() { cancel(); ticker.Stop(); <-ended }
}
