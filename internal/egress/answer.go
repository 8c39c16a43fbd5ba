package egress

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// A denial is why a connection is refused. The reason is for reports, the text for
// the client, on one line.
type denial struct {
	reason string
	text   string
}

func refused(reason, format string, args ...any) *denial {
	return &denial{reason, fmt.Sprintf(format, args...)}
}

// statusOf is the HTTP status for a reason, before the tunnel is established.
func statusOf(reason string) int {
	switch reason {
	case ReasonRequest, ReasonHello:
		return http.StatusBadRequest
	case ReasonMethod:
		return http.StatusMethodNotAllowed
	case ReasonToken:
		return http.StatusProxyAuthRequired
	case ReasonResolve, ReasonUnreached:
		return http.StatusBadGateway
	case ReasonLimit:
		return http.StatusTooManyRequests
	}
	return http.StatusForbidden
}

const established = "HTTP/1.1 200 Connection established\r\n\r\n"

// answerTimeout is how long a client may take to read the answer.
const answerTimeout = 2 * time.Second

// answer tells the client why it is refused. If patient, it waits until the client has
// read that.
func answer(conn net.Conn, r *denial, patient bool) {
	status := statusOf(r.reason)
	extra := ""
	switch status {
	case http.StatusMethodNotAllowed:
		extra = "Allow: CONNECT\r\n"
	case http.StatusProxyAuthRequired:
		extra = "Proxy-Authenticate: Basic realm=\"perstack\"\r\n"
	}
	body := "perstack: " + r.text + "\n"
	_ = conn.SetDeadline(time.Now().Add(answerTimeout))
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nPerstack-Reason: %s\r\n%sConnection: close\r\n\r\n%s",
		status, http.StatusText(status), len(body), r.reason, extra, body); err == nil && patient {
		linger(conn)
	}
}

// accessDenied is the TLS alert access_denied, for a client whose tunnel is established:
// it expects TLS.
const accessDenied = "\x15\x03\x03\x00\x02\x02\x31"

func alert(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(answerTimeout))
	if _, err := io.WriteString(conn, accessDenied); err == nil {
		linger(conn)
	}
}

// linger lets the client read the answer: a connection that is closed while unread bytes
// are in it is reset, and the client loses the answer.
func linger(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_, _ = io.CopyN(io.Discard, conn, maxHello)
	}
}
