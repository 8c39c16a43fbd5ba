package witness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// A Log is the log of a registry, whose checkpoints are cosigned.
type Log interface {
	// Newest returns the newest state and its signed checkpoint.
	Newest(ctx context.Context) (tlog.Checkpoint, []byte, error)
	// ProveGrowth proves that the log grew from one size to another.
	ProveGrowth(ctx context.Context, from, to int64) ([]tlog.Hash, error)
	// AddCosignature stores a cosignature of the checkpoint of a size.
	AddCosignature(ctx context.Context, size int64, by *tlog.Witness, line string) error
}

// A Peer is a witness that cosigns for a registry.
type Peer struct {
	Witness *tlog.Witness
	URL     string // add-checkpoint is below it
	HTTP    *http.Client
}

// A State is what became of the requests to a witness.
type State struct {
	Witness                 *tlog.Witness
	Size                    int64 // of the newest checkpoint that it has cosigned; 0 if there is none
	Stored, Failed, Refused int64
}

// A Pusher asks witnesses to cosign the checkpoints of a log. It never keeps a publication waiting.
type Pusher struct {
	log    Log
	logger *slog.Logger
	now    func() time.Time
	peers  []*peer
}

// A peer is one with what is known of it.
type peer struct {
	Peer

	mu       sync.Mutex
	state    State
	failures int
	next     time.Time // when it is asked again after a failure
}

// NewPusher returns a pusher.
func NewPusher(log Log, logger *slog.Logger, now func() time.Time, peers ...Peer) *Pusher {
	p := &Pusher{log: log, logger: logger, now: now}
	for _, one := range peers {
		p.peers = append(p.peers, &peer{Peer: one, state: State{Witness: one.Witness}})
	}
	return p
}

// States says what became of the requests, in the order of the peers.
func (p *Pusher) States() (all []State) {
	for _, one := range p.peers {
		one.mu.Lock()
		all = append(all, one.state)
		one.mu.Unlock()
	}
	return all
}

// Run pushes until the context ends: whenever grew has something, and now and then, since the log can be added to
// by another process, and a witness can be back.
func (p *Pusher) Run(ctx context.Context, grew <-chan struct{}, now <-chan time.Time) {
	for {
		p.Push(ctx)
		select {
		case <-ctx.Done():
			return
		case <-grew:
		case <-now:
		}
	}
}

// requestTimeout is how long a witness can take.
const requestTimeout = 10 * time.Second

// Push asks each witness to cosign the newest checkpoint, unless it has done so, or has failed a short time ago.
func (p *Pusher) Push(ctx context.Context) {
	at, signed, err := p.log.Newest(ctx)
	if err != nil {
		if ctx.Err() == nil {
			p.logger.WarnContext(ctx, "the newest checkpoint cannot be read", "error", err.Error())
		}
		return
	}
	if at.Size == 0 {
		return
	}
	var all sync.WaitGroup
	for _, one := range p.peers {
		all.Go(func() {
			if !one.wants(at.Size, p.now()) {
				return
			}
			within, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			err := one.push(within, p.log, at, signed)
			if ctx.Err() != nil {
				return
			}
			one.count(at.Size, err, p.now())
			if err != nil {
				p.logger.WarnContext(ctx, "a witness has not cosigned the checkpoint", "witness", one.Witness.ID(), "size", at.Size, "error", err.Error())
			}
		})
	}
	all.Wait()
}

func (o *peer) wants(size int64, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state.Size < size && !now.Before(o.next)
}

// The times between requests to a witness that fails.
const (
	firstWait = 5 * time.Second
	longWait  = 5 * time.Minute
)

func (o *peer) count(size int64, err error, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		o.state.Size, o.failures, o.next = size, 0, time.Time{}
		o.state.Stored++
		return
	}
	if _, ok := errors.AsType[*refusedError](err); ok {
		o.state.Refused++
	} else {
		o.state.Failed++
	}
	wait := longWait
	if o.failures < 6 {
		wait = firstWait << o.failures
	}
	o.failures++
	o.next = now.Add(min(wait, longWait))
}

// A refusedError says that a witness does not want to cosign.
type refusedError struct{ reason string }

func (e *refusedError) Error() string { return e.reason }

// maxSizes is how often a witness can name another size that it has cosigned, as it can if two processes push.
const maxSizes = 3

// push asks one witness to cosign. The first request can be answered with the size that the witness has.
func (o *peer) push(ctx context.Context, log Log, at tlog.Checkpoint, signed []byte) error {
	o.mu.Lock()
	old := o.state.Size
	o.mu.Unlock()
	for range maxSizes {
		if old > at.Size {
			return &refusedError{fmt.Sprintf("it has cosigned %d leaves, and the log has %d; if the registry was restored from an older backup, its clients refuse it too", old, at.Size)}
		}
		a := tlog.Addition{Old: old, Signed: signed}
		if old > 0 && old < at.Size {
			var err error
			if a.Proof, err = log.ProveGrowth(ctx, old, at.Size); err != nil {
				return err
			}
		}
		status, kind, body, err := o.post(ctx, a.Text())
		if err != nil {
			return err
		}
		switch status {
		case http.StatusOK:
			return o.keep(ctx, log, at.Size, signed, body)
		case http.StatusConflict:
			has, err := strconv.ParseInt(strings.TrimSuffix(string(body), "\n"), 10, 64)
			if err != nil || has < 0 || kind != tlog.SizeType {
				return &refusedError{"it answers with a conflict, and not with the size that it has"}
			}
			if has == old {
				return &refusedError{fmt.Sprintf("it has seen another history of %d leaves", has)}
			}
			old = has
		default:
			return &refusedError{fmt.Sprintf("it answers with the status %d", status)}
		}
	}
	return errors.New("it answers with a conflict again and again")
}

// maxAnswer bounds the answer of a witness.
const maxAnswer = 16 << 10

func (o *peer) post(ctx context.Context, text []byte) (status int, kind string, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(o.URL, "/")+addPath, bytes.NewReader(text))
	if err != nil {
		return 0, "", nil, err
	}
	answer, err := o.HTTP.Do(r)
	if err != nil {
		return 0, "", nil, err
	}
	defer answer.Body.Close()
	if body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1)); err == nil && len(body) > maxAnswer {
		err = errors.New("its answer is too large")
	}
	kind, _, _ = mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return answer.StatusCode, kind, body, err
}

// keep stores the cosignature of the witness. An answer can have those of others, which are not asked for.
func (o *peer) keep(ctx context.Context, log Log, size int64, signed, lines []byte) error {
	body, _, _ := bytes.Cut(signed, []byte("\n\n"))
	found := tlog.Cosignatures(fmt.Appendf(nil, "%s\n\n%s", body, lines), o.Witness)
	if len(found) == 0 {
		return errors.New("its answer has no valid cosignature")
	}
	return log.AddCosignature(ctx, size, o.Witness, found[0].Line)
}
