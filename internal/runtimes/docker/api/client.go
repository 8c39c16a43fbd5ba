// Package api talks to a Docker daemon of this machine, as far as a run needs it.
//
// The types of requests and answers are those of github.com/moby/moby/api. The client of
// that project is not used outside tests: its libraries (tracing, names of images) are
// initialised at every start of perstack, which costs a tenth of what a start costs,
// whether the command needs Docker or not. Start reading at [Client.send].
package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/moby/moby/api/types/system"
)

// A Client has connections to one daemon.
type Client struct {
	dial    func(context.Context) (net.Conn, error)
	http    *http.Client
	version string // of the API, as negotiated by Ping; empty before
}

// New returns a client for a daemon at unix://PATH, or also at npipe://PATH on Windows. It
// does not connect yet.
func New(host string) (*Client, error) {
	scheme, path, _ := strings.Cut(host, "://")
	dial := dialers[scheme]
	if dial == nil || path == "" {
		return nil, fmt.Errorf("the address %q is not of a form like %s", host, DefaultHost)
	}
	c := &Client{dial: func(ctx context.Context) (net.Conn, error) { return dial(ctx, path) }}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx) },
			DisableCompression: true,
			IdleConnTimeout:    30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c, nil
}

type dialer func(ctx context.Context, path string) (net.Conn, error)

func dialUnix(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// maxVersion is the version of the API that the types in use describe. Newer daemons
// understand it.
const maxVersion = "1.56"

// Ping asks the daemon for the newest version of its API, and uses that one or [maxVersion]
// from here on, whichever is older.
func (c *Client) Ping(ctx context.Context) (version string, err error) {
	resp, err := c.send(ctx, http.MethodGet, "/_ping", nil, nil)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	version = resp.Header.Get("Api-Version")
	c.version = maxVersion
	if Older(version, maxVersion) {
		c.version = version
	}
	return version, nil
}

// Version returns the version of the daemon.
func (c *Client) Version(ctx context.Context) (system.VersionResponse, error) {
	return fetch[system.VersionResponse](ctx, c, http.MethodGet, "/version", nil, nil)
}

// Info returns what the daemon says of itself.
func (c *Client) Info(ctx context.Context) (system.Info, error) {
	return fetch[system.Info](ctx, c, http.MethodGet, "/info", nil, nil)
}

// Raw returns what the daemon answers to a request, as it is.
func (c *Client) Raw(ctx context.Context, path string) ([]byte, error) {
	resp, err := c.send(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
}

// An Error is a request that the daemon refused.
type Error struct {
	Status  int    // of HTTP
	Message string // the daemon's words
}

func (e *Error) Error() string { return e.Message }

// A ConnectionError says that a daemon does not answer.
type ConnectionError struct{ Err error }

func (e *ConnectionError) Error() string { return e.Err.Error() }
func (e *ConnectionError) Unwrap() error { return e.Err }

// IsNotFound reports whether the daemon does not have what a request names.
func IsNotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsConflict reports whether a thing is in a state that does not allow the request.
func IsConflict(err error) bool { return hasStatus(err, http.StatusConflict) }

// IsForbidden reports whether the daemon does not allow the request at all.
func IsForbidden(err error) bool { return hasStatus(err, http.StatusForbidden) }

func hasStatus(err error, status int) bool {
	refused, ok := errors.AsType[*Error](err)
	return ok && refused.Status == status
}

// These bound what a daemon can answer.
const (
	maxAnswer  = 64 << 20  // longest for lists
	maxPulled  = 256 << 20 // several lines for each part of an image
	maxLoaded  = 1 << 20
	maxRefused = 1 << 20
	maxPlain   = 200 // of an answer that is not JSON, and not a daemon's
)

// call sends a request. The body is a value for JSON, a tar as an [io.Reader], or nil.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, body any) error {
	resp, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// fetch is call for a request with an answer in JSON.
func fetch[T any](ctx context.Context, c *Client, method, path string, query url.Values, body any) (answer T, err error) {
	resp, err := c.send(ctx, method, path, query, body)
	if err != nil {
		return answer, err
	}
	defer resp.Body.Close()
	return decode[T](json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)))
}

func decode[T any](from *json.Decoder) (value T, err error) {
	if err = from.Decode(&value); err != nil {
		err = fmt.Errorf("decode the answer of the daemon: %w", err)
	}
	return value, err
}

// send sends a request. An answer that refuses it is an [*Error].
func (c *Client) send(ctx context.Context, method, path string, query url.Values, body any) (*http.Response, error) {
	req, err := c.request(ctx, method, path, query, body)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if failed, ok := errors.AsType[*url.Error](err); ok {
			err = failed.Err // without the address, which is the same for every daemon
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &ConnectionError{err}
	}
	if resp.StatusCode < http.StatusMultipleChoices || resp.StatusCode == http.StatusNotModified { // started already
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(resp)
}

func (c *Client) request(ctx context.Context, method, path string, query url.Values, body any) (*http.Request, error) {
	for part := range strings.SplitSeq(path, "/") {
		if part == "." || part == ".." { // a name must not lead to another request
			return nil, fmt.Errorf("%q has a name that nothing on a daemon can have", path)
		}
	}
	if c.version != "" {
		path = "/v" + c.version + path
	}
	kind := "application/json"
	var content io.Reader
	switch body := body.(type) {
	case nil:
	case io.Reader:
		content, kind = body, "application/x-tar"
	default:
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(data)
	}
	at := url.URL{Scheme: "http", Host: "docker", Path: path, RawQuery: query.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), content)
	if err != nil {
		return nil, err
	}
	if content != nil {
		req.Header.Set("Content-Type", kind)
	}
	return req, nil
}

func refusal(resp *http.Response) error {
	refused := &Error{Status: resp.StatusCode, Message: resp.Status} // all that a HEAD request gets
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxRefused))
	if err != nil {
		return errors.Join(refused, err)
	}
	var answer struct{ Message string }
	text := strings.TrimSpace(string(data))
	switch {
	case json.Unmarshal(data, &answer) == nil && answer.Message != "":
		refused.Message = strings.TrimSpace(answer.Message)
	case text != "":
		refused.Message += ": " + text[:min(len(text), maxPlain)]
	}
	return refused
}

// A Progress is how far the daemon is with one layer of an image.
type Progress struct {
	Layer, Status  string
	Current, Total int64 // bytes
}

// follow sends a request that the daemon answers with lines of progress, and returns the
// error that it reports in one of them.
func (c *Client) follow(ctx context.Context, path string, query url.Values, body any, limit int64, report func(Progress)) error {
	resp, err := c.send(ctx, http.MethodPost, path, query, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return readProgress(io.LimitReader(resp.Body, limit), report)
}

func readProgress(answer io.Reader, report func(Progress)) error {
	lines := json.NewDecoder(answer)
	for {
		line, err := decode[struct {
			ID, Status, Error string
			ErrorDetail       struct{ Message string } // newer than Error
			ProgressDetail    struct{ Current, Total int64 }
		}](lines)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if message := cmp.Or(line.ErrorDetail.Message, line.Error); message != "" {
			return errors.New(message)
		}
		report(Progress{Layer: line.ID, Status: line.Status, Current: line.ProgressDetail.Current, Total: line.ProgressDetail.Total})
	}
}

// Older compares dotted numbers; what follows a number (-rc.1, +dfsg1) does not count.
// A version that is not understood is not older.
func Older(version, than string) bool {
	a, b := strings.Split(version, "."), strings.Split(than, ".")
	for i := range b {
		if i >= len(a) {
			return false
		}
		digits := a[i][:len(a[i])-len(strings.TrimLeft(a[i], "0123456789"))]
		x, errX := strconv.Atoi(digits)
		y, errY := strconv.Atoi(b[i])
		if errX != nil || errY != nil || x > y {
			return false
		}
		if x < y {
			return true
		}
	}
	return false
}
