package witness

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/perstack-go/perstack/internal/registry/tlog"
)

const origin = "registry.example/log"

// A memoryLog is a log in memory, with what a pusher stores.
type memoryLog struct {
	t      testing.TB
	signer note.Signer
	key    string

	mu     sync.Mutex
	size   int64
	hashes []tlog.Hash
	lines  map[int64]map[string]string // by size and witness
}

func newLog(t testing.TB) *memoryLog {
	t.Helper()
	secret, public, err := note.GenerateKey(rand.Reader, origin)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	return &memoryLog{t: t, signer: signer, key: public, lines: map[int64]map[string]string{}}
}

func (m *memoryLog) ReadHashes(numbers []int64) (all []tlog.Hash, err error) {
	for _, n := range numbers {
		all = append(all, m.hashes[n])
	}
	return all, nil
}

// add adds leaves.
func (m *memoryLog) add(leaves ...string) *memoryLog {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, leaf := range leaves {
		_, added, err := tlog.Append(m.size, []byte(leaf), m)
		if err != nil {
			m.t.Fatal(err)
		}
		m.hashes = append(m.hashes, added...)
		m.size++
	}
	return m
}

// fork is a log of the same key with other leaves.
func (m *memoryLog) fork(leaves ...string) *memoryLog {
	return (&memoryLog{t: m.t, signer: m.signer, key: m.key, lines: map[int64]map[string]string{}}).add(leaves...)
}

func (m *memoryLog) Newest(context.Context) (tlog.Checkpoint, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	root, err := tlog.Root(m.size, m)
	if err != nil {
		return tlog.Checkpoint{}, nil, err
	}
	at := tlog.Checkpoint{Origin: origin, Size: m.size, Hash: root}
	signed, err := at.Sign(m.signer)
	return at, signed, err
}

func (m *memoryLog) ProveGrowth(_ context.Context, from, to int64) ([]tlog.Hash, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return tlog.ProveGrowth(from, to, m)
}

func (m *memoryLog) AddCosignature(_ context.Context, size int64, by *tlog.Witness, line string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lines[size] == nil {
		m.lines[size] = map[string]string{}
	}
	m.lines[size][by.ID()] = line
	return nil
}

// A place is a witness that is served.
type place struct {
	*httptest.Server
	dir      string
	cosigner *tlog.Cosigner
	log      bytes.Buffer
}

func serve(t testing.TB, dir string, cosigner *tlog.Cosigner, logs ...string) *place {
	t.Helper()
	p := &place{dir: dir, cosigner: cosigner}
	w, err := Open(Options{Dir: dir, Cosigner: cosigner, Logs: logs, Logger: slog.New(slog.NewTextHandler(&p.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	p.Server = httptest.NewServer(w)
	t.Cleanup(func() {
		p.Server.Close()
		if err := w.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	return p
}

func newCosigner(t testing.TB, name string) *tlog.Cosigner {
	t.Helper()
	c, _, err := tlog.NewCosigner(rand.Reader, name, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (p *place) peer() Peer { return Peer{p.cosigner.Witness, p.URL, p.Client()} }

// send sends a request as it is.
func (p *place) send(t testing.TB, text string) (status int, kind, body string) {
	t.Helper()
	answer, err := p.Client().Post(p.URL+addPath, "text/plain", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header.Get("Content-Type"), string(data)
}

// request is an addition of the newest checkpoint of a log.
func request(m *memoryLog, old int64) string {
	at, signed, err := m.Newest(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	a := tlog.Addition{Old: old, Signed: signed}
	if old > 0 && old < at.Size {
		if a.Proof, err = m.ProveGrowth(m.t.Context(), old, at.Size); err != nil {
			m.t.Fatal(err)
		}
	}
	return string(a.Text())
}

// A witness cosigns a log that grows, names the size that it has, and refuses every other history, after a restart
// too. Acceptance test 7: two servers with the same key and different histories.
func TestWitness(t *testing.T) {
	log := newLog(t).add("a\n", "b\n", "c\n")
	dir := t.TempDir()
	p := serve(t, dir, newCosigner(t, "w1"), log.key)
	expect := func(name, text string, want int, wantBody string) {
		t.Helper()
		status, kind, body := p.send(t, text)
		if status != want || wantBody != "" && !strings.Contains(body, wantBody) || status == http.StatusConflict && kind != tlog.SizeType {
			t.Errorf("%s: %d %s %s", name, status, kind, body)
		}
	}
	expect("first", request(log, 0), http.StatusOK, "— w1 ")
	expect("again", request(log, 3), http.StatusOK, "— w1 ")
	log.add("d\n", "e\n")
	expect("unknown size", request(log, 0), http.StatusConflict, "3\n")
	expect("grown", request(log, 3), http.StatusOK, "— w1 ")
	expect("fork of the same size", request(log.fork("a\n", "b\n", "c\n", "x\n", "y\n"), 5), http.StatusConflict, "5\n")
	expect("fork that grew", request(log.fork("a\n", "x\n", "c\n", "d\n", "e\n", "f\n"), 5), http.StatusUnprocessableEntity, "are not those")
	expect("shrunk", request(log.fork("a\n", "b\n"), 2), http.StatusConflict, "5\n")
	expect("old is larger", request(log.fork("a\n", "b\n"), 5), http.StatusBadRequest, "")
	if !strings.Contains(p.log.String(), "shown=\"registry.example/log") {
		t.Errorf("the evidence is not logged: %s", p.log.String())
	}
	other := newLog(t).add("a\n")
	expect("another key", request(other, 0), http.StatusForbidden, "no key that is known")
	unknown := strings.Replace(request(log, 5), origin, "other.example/log", 1)
	expect("another log", unknown, http.StatusNotFound, "does not know the log")
	expect("nonsense", "x", http.StatusBadRequest, "")
	expect("large", "old 0\n\n"+strings.Repeat("x", tlog.MaxAddition), http.StatusBadRequest, "")
	needless := strings.Replace(request(log, 5), "\n\n", "\n"+strings.Repeat("A", 43)+"=\n\n", 1)
	expect("needless proof", needless, http.StatusUnprocessableEntity, "where none is needed")
	p.Config.Handler.(*Witness).Close()
	p.Server.Close()
	p = serve(t, dir, p.cosigner, log.key)
	expect("fork after a restart", request(log.fork("a\n", "b\n", "c\n", "x\n", "y\n"), 5), http.StatusConflict, "5\n")
	expect("after a restart", request(log, 5), http.StatusOK, "— w1 ")
	answer, err := p.Client().Get(p.URL + addPath)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusMethodNotAllowed {
		t.Error(answer.Status)
	}
}

// Of two histories that are sent at once, one is cosigned.
func TestWitnessAtOnce(t *testing.T) {
	log := newLog(t)
	p := serve(t, t.TempDir(), newCosigner(t, "w1"), log.key)
	const senders = 16
	signed := make([]int, senders)
	var all sync.WaitGroup
	for i := range senders {
		text := request(log.fork(fmt.Sprintf("%d\n", i)), 0)
		all.Go(func() { signed[i], _, _ = p.send(t, text) })
	}
	all.Wait()
	winners := 0
	for _, status := range signed {
		if status == http.StatusOK {
			winners++
		}
	}
	if winners != 1 {
		t.Errorf("%d histories were cosigned", winners)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	c := newCosigner(t, "w1")
	log := newLog(t)
	opts := Options{Dir: dir, Cosigner: c, Logs: []string{log.key}, Logger: slog.New(slog.DiscardHandler)}
	w, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(opts); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"x", `{"version":2,"logs":{}}`, `{"version":1,"logs":{"a":{"size":1,"root":"AA=="}}}`} {
		if err := os.WriteFile(filepath.Join(dir, stateName), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(opts); err == nil || !strings.Contains(err.Error(), "retire the witness") {
			t.Errorf("%s: %v", content, err)
		}
	}
	opts.Logs = []string{"x"}
	if _, err := Open(opts); err == nil {
		t.Error("a log without a key")
	}
}

// A pusher gets the cosignatures of the newest checkpoint, from a witness that it knows nothing of too. One that
// fails delays nothing, and is asked again later.
func TestPusher(t *testing.T) {
	log := newLog(t).add("a\n", "b\n")
	one := serve(t, t.TempDir(), newCosigner(t, "w1"), log.key)
	broken := httptest.NewServer(http.NotFoundHandler())
	defer broken.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	at := time.Unix(1_700_000_000, 0)
	now := func() time.Time { return at }
	w2, w3 := newCosigner(t, "w2").Witness, newCosigner(t, "w3").Witness
	p := NewPusher(log, slog.New(slog.DiscardHandler), now, one.peer(), Peer{w2, broken.URL, broken.Client()}, Peer{w3, gone.URL, gone.Client()})
	p.Push(t.Context())
	p.Push(t.Context()) // nothing is new, and those that fail wait
	log.add("c\n")
	p.Push(t.Context())
	want := func(stored, refused, failed, size int64) {
		t.Helper()
		s := p.States()
		if s[0].Stored != stored || s[0].Size != size || s[1].Refused != refused || s[2].Failed != failed {
			t.Errorf("%+v", s)
		}
	}
	want(2, 1, 1, 3)
	at = at.Add(firstWait)
	p.Push(t.Context())
	want(2, 2, 2, 3)
	for size := range []int64{2, 3} {
		if log.lines[int64(size)+2][one.cosigner.Witness.ID()] == "" {
			t.Error("a cosignature is missing", log.lines)
		}
	}
	// A new process knows nothing, and asks for the size.
	again := NewPusher(log.add("d\n"), slog.New(slog.DiscardHandler), now, one.peer())
	again.Push(t.Context())
	if s := again.States()[0]; s.Stored != 1 || s.Size != 4 {
		t.Errorf("%+v", s)
	}
	// A registry that forked, or was restored from an older backup, is refused.
	for _, other := range []*memoryLog{log.fork("x\n", "b\n", "c\n", "d\n"), log.fork("x\n", "b\n", "c\n", "d\n", "e\n"), log.fork("a\n")} {
		forked := NewPusher(other, slog.New(slog.DiscardHandler), now, one.peer())
		forked.Push(t.Context())
		if s := forked.States()[0]; s.Stored != 0 || s.Refused != 1 || len(other.lines) != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// What a witness answers is not believed.
func TestPusherRefusesAnswers(t *testing.T) {
	log := newLog(t).add("a\n")
	w := newCosigner(t, "w1")
	line, err := newCosigner(t, "w1").Line(tlog.Checkpoint{Origin: origin, Size: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, answer := range map[string]http.HandlerFunc{
		"nothing":       func(http.ResponseWriter, *http.Request) {},
		"another key":   func(out http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(out, line) },
		"much":          func(out http.ResponseWriter, _ *http.Request) { _, _ = out.Write(make([]byte, maxAnswer+1)) },
		"conflict":      func(out http.ResponseWriter, _ *http.Request) { out.WriteHeader(http.StatusConflict) },
		"larger":        conflict("7\n"),
		"same":          conflict("0\n"),
		"not a number":  conflict("x\n"),
		"always others": alternate(),
	} {
		s := httptest.NewServer(answer)
		p := NewPusher(log, slog.New(slog.DiscardHandler), time.Now, Peer{w.Witness, s.URL, s.Client()})
		p.Push(t.Context())
		if state := p.States()[0]; state.Stored != 0 || state.Failed+state.Refused != 1 || len(log.lines) > 0 {
			t.Errorf("%s: %+v", name, state)
		}
		s.Close()
	}
}

func conflict(size string) http.HandlerFunc {
	return func(out http.ResponseWriter, _ *http.Request) {
		out.Header().Set("Content-Type", tlog.SizeType)
		out.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(out, size)
	}
}

func alternate() http.HandlerFunc {
	n := 0
	return func(out http.ResponseWriter, r *http.Request) {
		n++
		conflict(fmt.Sprintf("%d\n", n%2))(out, r)
	}
}

// Run pushes when the log grew, and ends with its context.
func TestRun(t *testing.T) {
	log := newLog(t).add("a\n")
	one := serve(t, t.TempDir(), newCosigner(t, "w1"), log.key)
	p := NewPusher(log, slog.New(slog.DiscardHandler), time.Now, one.peer())
	ctx, cancel := context.WithCancel(t.Context())
	grew, ended := make(chan struct{}), make(chan struct{})
	go func() { p.Run(ctx, grew, nil); close(ended) }()
	grew <- struct{}{} // it is taken after the first round
	log.add("b\n")
	grew <- struct{}{}
	grew <- struct{}{}
	if s := p.States()[0]; s.Size != 2 {
		t.Errorf("%+v", s)
	}
	cancel()
	<-ended
}
