package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// A call is one request on its way to an answer.
type call struct {
	h       *Handler
	w       *recorder
	r       *http.Request
	route   *route
	params  map[string]string
	id      string
	address netip.Addr
	by      server.Actor
	began   time.Time

	taken   []allowance // from the limits, for a change
	hasSlot bool        // of those for heavy routes
	unread  int64       // bytes of the answer that count until they are sent
}

func (c *call) ctx() context.Context { return c.r.Context() }

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// number reads a number of the query.
func (c *call) number(name string, fallback, least, most int64) (int64, error) {
	text := c.query(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, invalid(name, fmt.Sprintf("%s must be a number from %d to %d", name, least, most))
	}
	return n, nil
}

// oneOf reads a word of the query.
func (c *call) oneOf(name, fallback string, words ...string) (string, error) {
	text := c.query(name)
	if text == "" {
		return fallback, nil
	}
	if !slices.Contains(words, text) {
		return "", invalid(name, name+" must be one of "+strings.Join(words, ", "))
	}
	return text, nil
}

// time reads a time of the query; it is zero without one.
func (c *call) time(name string) (t time.Time, err error) {
	if text := c.query(name); text != "" {
		if t, err = time.Parse(time.RFC3339, text); err != nil {
			return t, invalid(name, name+" must be a time such as 2026-01-31T00:00:00Z")
		}
	}
	return t, nil
}

// flag reads a switch of the query.
func (c *call) flag(name string) bool {
	switch c.query(name) {
	case "", "false", "0":
		return false
	}
	return true
}

// invalid is the answer to what is not well formed.
func invalid(field, reason string) error {
	return &server.Error{Status: http.StatusUnprocessableEntity, Reason: reason, Field: field}
}

// body reads the body of the request, which is JSON of a size and a duration that are bounded. What the value
// has no place for is an error: what is left out in silence would be published without it.
func (c *call) body(into any) error {
	if kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return &server.Error{Status: http.StatusUnsupportedMediaType, Reason: "The body must be JSON", Hint: "send Content-Type: application/json"}
	}
	if c.r.ContentLength > api.MaxBody {
		return tooLarge()
	}
	// Not every writer has deadlines; the server has one for the whole request.
	deadline := http.NewResponseController(c.w.ResponseWriter).SetReadDeadline
	_ = deadline(time.Now().Add(c.h.opts.BodyTimeout))
	data, err := io.ReadAll(http.MaxBytesReader(c.w.ResponseWriter, c.r.Body, api.MaxBody))
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return tooLarge()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return &server.Error{Status: http.StatusRequestTimeout, Reason: "The body took too long"}
		}
		return &server.Error{Status: http.StatusBadRequest, Reason: "The body could not be read"}
	}
	_ = deadline(time.Time{}) // it would cancel what the request asks for
	if err := json.Unmarshal(data, into, json.RejectUnknownMembers(true)); err != nil {
		return invalid(pointerOf(err), "The body is not what is expected: "+describe(err))
	}
	return nil
}

func tooLarge() error {
	return &server.Error{Status: http.StatusRequestEntityTooLarge, Reason: fmt.Sprintf("The body has more than %d bytes", api.MaxBody)}
}

// pointerOf returns the member of a body that an error is about.
func pointerOf(err error) string {
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return strings.ReplaceAll(strings.TrimPrefix(string(e.JSONPointer), "/"), "/", ".")
	}
	return ""
}

// describe says what is wrong with a body, without the names of our types.
func describe(err error) string {
	e, ok := errors.AsType[*json.SemanticError](err)
	switch {
	case !ok:
		return "it is not JSON, or has a name twice"
	case errors.Is(err, json.ErrUnknownName):
		return "it has a member that is not known"
	case e.JSONKind != 0:
		return "a value of another kind belongs there"
	}
	return "a value has the wrong form"
}

// json answers with a value.
func (c *call) json(value any) error {
	data, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return err
	}
	c.write(http.StatusOK, "application/json", append(data, '\n'))
	return nil
}

// done answers that a change was made. There is a JSON object in every answer: an empty body makes the
// original clients report failures.
func (c *call) done() error { return c.json(struct{}{}) }

// private keeps an answer out of caches.
const private = "no-store"

func (c *call) write(status int, kind string, data []byte) {
	header := c.w.Header()
	header.Set("Content-Type", kind)
	header.Set("Content-Length", strconv.Itoa(len(data)))
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(data) // the client has left
	}
}

// A recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter

	status int
	bytes  int64

	// begin is asked once before the answer of a heavy route is sent; nil for others.
	begin   func(length int64) bool
	refused bool // because of it
}

func (w *recorder) WriteHeader(status int) {
	if begin := w.begin; begin != nil {
		w.begin = nil
		length, err := strconv.ParseInt(w.Header().Get("Content-Length"), 10, 64)
		if err == nil && !begin(length) {
			w.refuse()
			return
		}
	}
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(data []byte) (int, error) {
	if w.refused {
		return len(data), nil
	}
	n, err := w.ResponseWriter.Write(data)
	w.bytes += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// addressOf returns the address of the client. Of what a proxy says, the last address counts that is not
// itself that of a proxy: everything before it can be invented.
func (h *Handler) addressOf(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	peer, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	peer = peer.Unmap().WithZone("")
	isProxy := func(a netip.Addr) bool {
		return slices.ContainsFunc(h.opts.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	said := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(said) - 1; i >= 0 && isProxy(peer); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(said[i]))
		if err != nil {
			break
		}
		peer = next.Unmap().WithZone("")
	}
	return peer
}
