package mcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/wording"
)

// A statusError is an answer of a web server that is not one of an MCP server.
type statusError struct {
	transport string
	method    string // of the request
	status    int
	login     bool   // it asks for a login, and got no token
	otherType string // the type of the body, if it is not a message
	only      bool   // no other transport is tried
}

var errBadEndpoint = errors.New("the endpoint is not a URL")

func (e *statusError) Error() string {
	status := fmt.Sprintf("%d %s", e.status, http.StatusText(e.status))
	switch {
	case e.otherType == "text/html":
		return "the server sent a web page: this is not the address of an MCP server; check the endpoint"
	case e.otherType != "":
		return fmt.Sprintf("the server sent %s, which is not a message of the protocol; check the endpoint", e.otherType)
	case e.login:
		return "the server asks for a login (OAuth), which this version cannot do; pass a token with headers"
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		return "the server refuses access (" + status + "); check the token in headers"
	case e.notOffered() && e.only:
		return "the server does not offer streamable HTTP there (" + status + `); check the endpoint, or use type = "mcpSseSkill" if it speaks the older SSE`
	case e.notOffered(), e.transport == olderSSE && e.method == http.MethodGet && e.status < 500:
		return "the server does not offer " + e.transport + " there (" + status + "); check the endpoint"
	}
	return "the server answered " + strings.TrimSpace(status)
}

// notOffered reports the answers of servers that have only the older transport, or nothing at
// this address.
func (e *statusError) notOffered() bool {
	if e.transport != streamableHTTP {
		return false
	}
	switch e.status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotAcceptable,
		http.StatusGone, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusNotImplemented:
		return true
	}
	return e.otherType != ""
}

// isNotOffered reports that the server does not have this transport, so that the next one is
// tried.
func isNotOffered(err error) bool {
	status, ok := errors.AsType[*statusError](err)
	return ok && status.notOffered()
}

// remoteError describes why a remote server could not be reached or used. Errors of net/http
// repeat the URL, which can contain a key.
func remoteError(err error) error {
	if err == nil {
		return nil
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		return status
	}
	if refused, ok := errors.AsType[*egress.Refusal](err); ok {
		if refused.Kind == egress.PrivateAddress {
			return fmt.Errorf("%w; set allowPrivateEndpoint = true in the skill if the server is yours", refused)
		}
		return refused
	}
	if bad, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("the certificate of the server is not accepted: %w", bad.Err)
	}
	if failed, ok := errors.AsType[*url.Error](err); ok && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return &remoteFailure{"cannot reach the server: " + withoutURLs(failed.Err.Error()), err}
	}
	text := withoutURLs(err.Error())
	if strings.Contains(text, "failed to decode") { // the library repeats what it could not read
		text = "the server sent what is not a message of the protocol; check the endpoint"
	}
	return &remoteFailure{wording.Cut(text, maxRemoteText), err}
}

const maxRemoteText = 500

// unsent turns an error of the library about a message that was not sent into one that does not
// look like an answer of the server.
func unsent(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return &unsentError{remoteFailure{remoteError(failed).Error(), failed}, err}
	}
	return err
}

// An unsentError is still the library's error, by which the library knows that the connection can
// be used again.
type unsentError struct {
	remoteFailure
	library error
}

func (u *unsentError) Is(target error) bool { return errors.Is(u.library, target) }

// A remoteFailure has another text than the error that it wraps.
type remoteFailure struct {
	text string
	err  error
}

func (f *remoteFailure) Error() string { return f.text }
func (f *remoteFailure) Unwrap() error { return f.err }

var webAddress = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(https?://)(?:[^/\s"?#]*@)?([^/\s"?#@]+)[^\s"]*`) })

// withoutURLs reduces each URL in a text to its server.
func withoutURLs(text string) string { return webAddress().ReplaceAllString(text, "$1$2") }
