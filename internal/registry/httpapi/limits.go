package httpapi

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/perstack-go/perstack/internal/registry/server"
)

// Limits say how much one client can ask for. 0 is no limit.
type Limits struct {
	ReadsPerMinute    int // of an address without a key
	ReadsPerHour      int // of an address without a key
	KeyReadsPerMinute int // of a key
	PublishesPerHour  int // of an organization, with all other changes; as many of a key can be refused
	PublishesPerDay   int // of an organization, with all other changes
	ReportsPerHour    int // of an address
	// FailuresPerMinute is how often an address can present a key that is not good. Then it is refused for a
	// quarter of an hour.
	FailuresPerMinute int
}

// DefaultLimits are those that a registry has unless its operator says otherwise.
func DefaultLimits() Limits {
	return Limits{
		ReadsPerMinute: 60, ReadsPerHour: 1000, KeyReadsPerMinute: 600, PublishesPerHour: 60, PublishesPerDay: 1000, ReportsPerHour: 10,
		FailuresPerMinute: 10,
	}
}

// lockout is how long an address is refused after too many keys that are not good.
const lockout = 15 * time.Minute

// maxClients bounds the clients that are remembered. Those that have not asked for the longest time are
// forgotten first, a part of them at a time.
const maxClients = 100_000

// A bucket is what one client has left of one limit.
type bucket struct {
	limiter *rate.Limiter
	given   int // that were given back
	used    time.Time
	until   time.Time // refused until then
}

// A ledger counts what clients ask for.
type ledger struct {
	mu      sync.Mutex
	buckets map[string]*bucket
}

// An allowance is one limit for one client.
type allowance struct {
	name string // of the limit and the client
	per  time.Duration
	most int
}

// take takes one request from an allowance. It returns how long to wait if there is none left.
func (l *ledger) take(a allowance, now time.Time) (left int, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(a, now)
	if now.Before(b.until) {
		return 0, b.until.Sub(now)
	}
	if b.given > 0 {
		b.given--
		return int(b.limiter.TokensAt(now)) + b.given, 0
	}
	if !b.limiter.AllowN(now, 1) {
		missing := 1 - b.limiter.TokensAt(now)
		return 0, time.Duration(math.Ceil(missing*a.per.Seconds()/float64(a.most))) * time.Second
	}
	return int(b.limiter.TokensAt(now)), 0
}

// giveBack undoes a take.
func (l *ledger) giveBack(a allowance) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.buckets[a.name]; b != nil && b.given < a.most {
		b.given++
	}
}

// refused returns how long a client is still locked out.
func (l *ledger) refused(a allowance, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.buckets[a.name]; b != nil && now.Before(b.until) {
		return b.until.Sub(now)
	}
	return 0
}

// lock refuses a client for a time.
func (l *ledger) lock(a allowance, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bucket(a, now).until = now.Add(lockout)
}

func (l *ledger) bucket(a allowance, now time.Time) *bucket {
	b := l.buckets[a.name]
	if b == nil {
		if len(l.buckets) >= maxClients {
			l.forget(now)
		}
		b = &bucket{limiter: rate.NewLimiter(rate.Limit(float64(a.most)/a.per.Seconds()), a.most)}
		l.buckets[a.name] = b
	}
	b.used = now
	return b
}

// forget removes the clients that have not asked for an hour, and then any until a tenth is free. One that is
// locked out stays as long as there is another.
func (l *ledger) forget(now time.Time) {
	for name, b := range l.buckets {
		if now.Sub(b.used) > time.Hour && !now.Before(b.until) {
			delete(l.buckets, name)
		}
	}
	for _, all := range []bool{false, true} {
		for name, b := range l.buckets {
			if len(l.buckets) < maxClients*9/10 {
				return
			}
			if all || !now.Before(b.until) {
				delete(l.buckets, name)
			}
		}
	}
}

// client names an address for the limits. One user has a whole network of IPv6.
func client(a netip.Addr) string {
	if a.Is6() {
		if p, err := a.Prefix(64); err == nil {
			return p.String()
		}
	}
	return a.String()
}

// failures is the allowance for keys that are not good.
func (c *call) failures() allowance {
	return allowance{"failures " + client(c.address), time.Minute, c.h.opts.Limits.FailuresPerMinute}
}

// checkFailures refuses an address that has presented too many keys that are not good.
func (c *call) checkFailures() error {
	a := c.failures()
	if a.most == 0 {
		return nil
	}
	if wait := c.h.ledger.refused(a, c.began); wait > 0 {
		return c.tooMany(a, wait)
	}
	return nil
}

// countFailure counts a key that is not good.
func (c *call) countFailure() {
	a := c.failures()
	if a.most == 0 {
		return
	}
	if left, _ := c.h.ledger.take(a, c.began); left == 0 {
		c.h.ledger.lock(a, c.began)
	}
}

// limit counts the request against the limits of its client.
func (c *call) limit() error {
	limits := c.h.opts.Limits
	var all []allowance
	switch who := client(c.address); {
	case c.route.effect == free:
	case c.route.effect == reports:
		all = []allowance{{"reports " + who, time.Hour, limits.ReportsPerHour}}
	case c.route.effect != reads && !c.route.urgent && c.by.OrgID != "":
		all = []allowance{
			{"changes an hour " + c.by.OrgID, time.Hour, limits.PublishesPerHour},
			{"changes a day " + c.by.OrgID, 24 * time.Hour, limits.PublishesPerDay},
			{"refused changes " + c.by.KeyID, time.Hour, limits.PublishesPerHour},
		}
	case c.by.OrgID != "":
		all = []allowance{{"key " + c.by.KeyID, time.Minute, limits.KeyReadsPerMinute}}
	default:
		all = []allowance{{"minute " + who, time.Minute, limits.ReadsPerMinute}, {"hour " + who, time.Hour, limits.ReadsPerHour}}
	}
	for i, a := range all {
		if a.most == 0 {
			continue
		}
		left, wait := c.h.ledger.take(a, c.began)
		if wait > 0 {
			for _, before := range c.taken {
				c.h.ledger.giveBack(before)
			}
			return c.tooMany(a, wait)
		}
		if c.route.effect == changes || c.route.effect == publishes {
			c.taken = append(c.taken, a)
		}
		if i == 0 {
			c.tell(a, left, time.Duration(float64(a.per)/float64(a.most)*float64(a.most-left)))
		}
	}
	return nil
}

// settle decides what a change counts for when it has an outcome: for the organization if it was made, for the
// key if it was refused. A key that may do nothing must not use up what its organization can do.
func (c *call) settle(err error) {
	for _, a := range c.taken {
		if ofKey := strings.HasPrefix(a.name, "refused changes "); ofKey == (err == nil) {
			c.h.ledger.giveBack(a)
		}
	}
}

// tell says what is left of an allowance.
func (c *call) tell(a allowance, left int, reset time.Duration) {
	header := c.w.Header()
	header.Set("RateLimit-Limit", strconv.Itoa(a.most))
	header.Set("RateLimit-Remaining", strconv.Itoa(left))
	header.Set("RateLimit-Reset", seconds(reset))
}

func seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// tooMany is the answer to a client that has asked too often.
func (c *call) tooMany(a allowance, wait time.Duration) error {
	c.tell(a, 0, wait)
	c.w.Header().Set("Retry-After", seconds(wait))
	return &server.Error{Status: http.StatusTooManyRequests, Reason: fmt.Sprintf("Too many requests; try again in %s seconds", seconds(wait))}
}
