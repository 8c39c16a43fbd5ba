package world

import (
	"net/url"
	"strconv"
	"sync"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/world/outside"
)

// A Relay is a proxy in the world that others go through, as companies have them.
type Relay struct {
	URL string // with the user and the password

	world *World
	id    string
	mu    sync.Mutex
	asked int64
}

// StartRelay starts the relay of the world, for one test at a time. What it sees is its
// own to tell: [World.Seen] has nothing of it.
func (w *World) StartRelay(tb testing.TB, user, password string) *Relay {
	tb.Helper()
	u := url.URL{Scheme: "http", User: url.UserPassword(user, password), Host: "listener." + outside.RelayZone + ":" + strconv.Itoa(outside.RelayPort)}
	r := &Relay{URL: u.String(), world: w, id: w.startServer(tb, outside.RoleRelay, w.Relay)}
	w.read(tb, r.id, isReady)
	return r
}

// Seen is all that the relay saw so far.
func (r *Relay) Seen(tb testing.TB) []outside.Entry {
	tb.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return r.world.ask(tb, r.id, r.asked)
}
