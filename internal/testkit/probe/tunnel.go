package probe

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// proxy is the one of the environment: where programs would go by themselves.
func (p *Probe) proxy() (*url.URL, error) {
	for _, v := range p.Environ {
		if value, ok := strings.CutPrefix(v, "HTTPS_PROXY="); ok {
			return url.Parse(value)
		}
	}
	return nil, errors.New("HTTPS_PROXY is not set")
}

// credentials is the header that shows the token of a proxy; empty if it has none.
func credentials(u *url.URL) string {
	if u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)) + "\r\n"
}

// A tunnel is a connection to the proxy after a request.
type tunnel struct {
	net.Conn
	reader *bufio.Reader
	status int
	reason string
}

func (t *tunnel) Read(b []byte) (int, error) { return t.reader.Read(b) }

// say sends bytes to the proxy of the environment and reads the head of the answer. The
// words {auth} stand for the line that shows the token.
func (p *Probe) say(ctx context.Context, raw string) (*tunnel, error) {
	u, err := p.proxy()
	if err != nil {
		return nil, err
	}
	return sayTo(ctx, u.Host, strings.ReplaceAll(raw, "{auth}", credentials(u)))
}

func sayTo(ctx context.Context, address, raw string) (*tunnel, error) {
	d := net.Dialer{Timeout: 2 * patience}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("the proxy: %w", err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline)
	}
	go func() { _, _ = io.WriteString(conn, raw) }() // a long one may be refused before it is all there
	t := &tunnel{Conn: conn, reader: bufio.NewReader(conn)}
	response, err := http.ReadResponse(t.reader, &http.Request{Method: http.MethodConnect})
	if err != nil {
		conn.Close()
		return nil, err
	}
	t.status = response.StatusCode
	if t.status != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 300))
		t.reason = response.Header.Get("Perstack-Reason") + ": " + strings.TrimSpace(string(body))
	}
	_ = response.Body.Close()
	return t, nil
}

// connect is a CONNECT request, written as it is.
func connect(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n{auth}\r\n"
}

// request sends bytes to the proxy and tells what came of them. If a tunnel opens, a
// TLS hello with that server name goes through it, and a request.
func (p *Probe) request(ctx context.Context, raw, serverName string) Result {
	t, err := p.say(ctx, raw)
	switch {
	case err != nil && strings.HasPrefix(err.Error(), "the proxy"):
		return Result{Outcome: Broken, Detail: err.Error()}
	case err != nil: // closed without a word
		return Result{Tried: 1, Outcome: Refused, Detail: "no answer: " + err.Error()}
	}
	defer t.Close()
	if t.status != http.StatusOK {
		return Result{Tried: 1, Outcome: Refused, Detail: fmt.Sprintf("%d %s", t.status, t.reason)}
	}
	return fetch(t, serverName, &tls.Config{ServerName: serverName})
}

// fetch asks for a page through a tunnel.
func fetch(t *tunnel, host string, config *tls.Config) Result {
	// The outside reports which server answers; here it counts that one does.
	config.InsecureSkipVerify = true
	conn := tls.Client(t, config)
	if _, err := fmt.Fprintf(conn, "GET /probe HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host); err != nil {
		return Result{Tried: 1, Outcome: Cut, Detail: err.Error()}
	}
	return heard(conn)
}

// alert begins the word that the proxy has for a tunnel that it closes again.
const alert = "\x15\x03"

// heard reads what comes back.
func heard(r io.Reader) Result {
	data, err := io.ReadAll(io.LimitReader(r, 4096))
	switch {
	case strings.HasPrefix(string(data), alert):
		return Result{Tried: 1, Outcome: Cut, Detail: "an alert of TLS"}
	case len(data) > 0:
		return Result{Tried: 1, Outcome: Reached, Detail: fmt.Sprintf("%.120q", data)}
	case err != nil:
		return Result{Tried: 1, Outcome: Cut, Detail: err.Error()}
	}
	return Result{Tried: 1, Outcome: Cut, Detail: "closed"}
}
