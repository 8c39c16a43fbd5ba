package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
	"github.com/perstack-go/perstack/internal/wording"
)

// ServeHTTP answers one request, and logs it. The log never has a key, a body or a query.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), h.opts.RequestTimeout)
	defer cancel()
	c := &call{h: h, w: &recorder{ResponseWriter: w}, r: r.WithContext(ctx), id: h.opts.NewID(), address: h.addressOf(r), began: h.opts.Now()}
	header := w.Header()
	header.Set(api.RequestIDHeader, c.id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", private)
	h.metrics.begin()
	defer c.log()
	defer c.rescue()
	if err := h.serve(c); err != nil {
		c.fail(err)
	}
}

// serve finds the route, checks what holds for all of them, and lets it answer.
func (h *Handler) serve(c *call) error {
	found, params, allowed := h.find(c.r)
	if found == nil && len(allowed) == 0 && h.opts.Pages != nil && !strings.HasPrefix(c.r.URL.Path, "/api/") {
		found = &pages
	}
	if found == nil {
		if len(allowed) > 0 {
			c.w.Header().Set("Allow", strings.Join(allowed, ", "))
			return &server.Error{Status: http.StatusMethodNotAllowed, Reason: "Use " + wording.Or(allowed)}
		}
		return &server.Error{Status: http.StatusNotFound, Reason: "There is nothing at this path"}
	}
	c.route, c.params = found, params
	if h.opts.ReadOnly && found.effect > reads {
		return &server.Error{Status: http.StatusServiceUnavailable, Reason: "The registry is read-only at the moment"}
	}
	if err := c.identify(); err != nil {
		return err
	}
	if (found.effect == changes || found.effect == publishes) && c.by.OrgID == "" {
		return unauthenticated() // before the body is read
	}
	if err := c.limit(); err != nil {
		return err
	}
	if found.heavy {
		if err := c.enter(); err != nil {
			return err
		}
		defer c.leave()
	}
	err := found.do(c)
	c.settle(err)
	c.auditRefusal(err)
	return err
}

// pages is the route of everything that is not for programs.
var pages = route{method: http.MethodGet, pattern: "/{page}", effect: reads, heavy: true, do: func(c *call) error {
	c.h.opts.Pages.ServeHTTP(c.w, c.r)
	return nil
}}

// rescue turns a panic into an answer.
func (c *call) rescue() {
	if cause := recover(); cause != nil {
		c.h.opts.Logger.ErrorContext(c.ctx(), "a request caused a panic", "request", c.id, "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
		c.fail(errors.New("panic"))
	}
}

// fail answers with an error. What is no answer of the registry itself stays in its log.
func (c *call) fail(err error) {
	if c.w.status != 0 {
		return // too late
	}
	answer, ok := errors.AsType[*server.Error](err)
	switch {
	case ok:
	case errors.Is(err, context.DeadlineExceeded):
		answer = &server.Error{Status: http.StatusGatewayTimeout, Reason: "The request took too long"}
	case errors.Is(err, context.Canceled):
		answer = &server.Error{Status: http.StatusServiceUnavailable, Reason: "The request was given up"}
	default:
		c.h.opts.Logger.ErrorContext(c.ctx(), "a request failed", "request", c.id, "error", err.Error())
		answer = &server.Error{Status: http.StatusInternalServerError, Reason: "The registry could not answer; its log says why"}
	}
	word := errorWord(answer.Status)
	if c.h.opts.VerboseErrors && strings.HasPrefix(c.r.URL.Path, api.V1+"/") {
		word += ": " + answer.Reason
	}
	if answer.Status == http.StatusTooManyRequests && c.w.Header().Get("Retry-After") == "" {
		c.w.Header().Set("Retry-After", seconds(time.Hour)) // a limit of a day
	}
	if answer.Status == http.StatusUnauthorized {
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	data, err := json.Marshal(api.Error{
		Code: answer.Status, Message: word, Reason: answer.Reason, Field: answer.Field, Hint: answer.Hint, RequestID: c.id,
	})
	if err != nil { // an answer repeats what a client has sent, which can be no text
		data = []byte("{}")
	}
	c.w.Header().Set("Cache-Control", private)
	c.w.Header().Del("ETag")
	c.write(answer.Status, "application/json", append(data, '\n'))
}

// errorWord is the word for a status. The original clients know four of them.
func errorWord(status int) string {
	if status == http.StatusUnprocessableEntity {
		return "Validation Failed"
	}
	return http.StatusText(status)
}

// log writes one line about the request.
func (c *call) log() {
	took := c.h.opts.Now().Sub(c.began)
	kind := series{code: strconv.Itoa(c.w.status)}
	if c.route != nil {
		kind.method, kind.route = c.route.method, c.route.pattern
	}
	c.h.metrics.end(kind, took, c.w.bytes)
	level := slog.LevelInfo
	if c.w.status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	const most = 300
	attributes := []any{
		"request", c.id, "method", c.r.Method, "path", wording.Visible(wording.Cut(c.r.URL.Path, most)), "status", c.w.status,
		"ms", took.Milliseconds(), "bytes", c.w.bytes, "address", c.address.String(),
	}
	if c.by.KeyID != "" {
		attributes = append(attributes, "key", c.by.KeyID, "organization", c.by.OrgName)
	}
	c.h.opts.Logger.Log(c.ctx(), level, "request", attributes...)
}
