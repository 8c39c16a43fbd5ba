package egress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The limits of a request.
const (
	maxHead    = 16 << 10
	maxHeaders = 64
)

// A request is what a client asks of the proxy, as far as it was understood. It is not
// checked yet.
type request struct {
	method string
	target string
	header map[string]string // names in lower case
	rest   []byte            // bytes after it
}

// errNothing is for a client that sent nothing.
var errNothing = errors.New("no request was sent")

// readRequest reads the head of one request. It is stricter than a web server has to be:
// proxies are fooled by requests that two programs understand differently, and clients
// write a CONNECT in one way.
func readRequest(r io.Reader) (request, error) {
	head, rest, err := readHead(r)
	if err != nil {
		return request{}, err
	}
	q, err := parseRequest(head)
	q.rest = rest
	return q, err
}

var headEnd = []byte("\r\n\r\n")

// readHead reads up to the empty line, and returns the bytes that were read after it.
func readHead(r io.Reader) (head, rest []byte, err error) {
	buf := make([]byte, 0, 1<<10) // most requests have a few hundred bytes
	for {
		if len(buf) == cap(buf) {
			if len(buf) >= maxHead {
				return nil, nil, fmt.Errorf("the request has more than %d bytes", maxHead)
			}
			buf = append(make([]byte, 0, min(2*cap(buf), maxHead)), buf...)
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		from := max(0, len(buf)-len(headEnd)+1)
		buf = buf[:len(buf)+n]
		if len(buf) > 0 && !isToken(buf[0]) {
			// A client that speaks TLS or another protocol never sends the end of a head.
			return nil, nil, errors.New("this is not HTTP; speak to the proxy in plain HTTP")
		}
		if end := bytes.Index(buf[from:], headEnd); end >= 0 {
			end += from
			return buf[:end], bytes.Clone(buf[end+len(headEnd):]), nil
		}
		if err != nil {
			if len(buf) == 0 {
				return nil, nil, errNothing
			}
			return nil, nil, errors.New("the request ended too soon, or took too long")
		}
	}
}

// parseRequest returns what it understood also with an error, for the report.
func parseRequest(head []byte) (q request, err error) {
	line, fields, _ := strings.Cut(string(head), "\r\n")
	words := strings.Split(line, " ")
	if len(words) != 3 {
		return q, errors.New("the first line is not: CONNECT host:443 HTTP/1.1")
	}
	q.method, q.target = words[0], words[1]
	if strings.ContainsFunc(q.method, func(c rune) bool { return c > 127 || !isToken(byte(c)) }) || q.target == "" {
		return q, errors.New("the first line is not: CONNECT host:443 HTTP/1.1")
	}
	if words[2] != "HTTP/1.1" && words[2] != "HTTP/1.0" {
		return q, errors.New("only HTTP/1.1 and HTTP/1.0 are supported")
	}
	q.header = map[string]string{}
	if fields == "" {
		return q, nil
	}
	for i, field := range strings.Split(fields, "\r\n") {
		if i >= maxHeaders {
			return q, fmt.Errorf("the request has more than %d headers", maxHeaders)
		}
		if err := q.addHeader(field); err != nil {
			return q, err
		}
	}
	return q, q.checkBody()
}

func (q *request) addHeader(field string) error {
	name, value, ok := strings.Cut(field, ":")
	if !ok || name == "" {
		return errors.New("a header has no name")
	}
	for i := range len(name) {
		if !isToken(name[i]) { // including a leading blank, the obsolete continuation of a header
			return errors.New("the name of a header has a character that does not belong there")
		}
	}
	for i := range len(value) {
		if c := value[i]; c != '\t' && (c < ' ' || c > '~') {
			return errors.New("a header has a character that does not belong there")
		}
	}
	name = strings.ToLower(name)
	if _, twice := q.header[name]; twice {
		return errors.New("a header is given twice")
	}
	q.header[name] = strings.Trim(value, " \t")
	return nil
}

// checkBody refuses headers that announce a body: the tunnel begins after the head.
func (q *request) checkBody() error {
	for _, name := range []string{"transfer-encoding", "trailer", "upgrade", "expect"} {
		if _, ok := q.header[name]; ok {
			return fmt.Errorf("a request with %s cannot be a tunnel", name)
		}
	}
	if length, ok := q.header["content-length"]; ok && length != "0" && q.method == "CONNECT" {
		return errors.New("a request with a body cannot be a tunnel")
	}
	return nil
}

// isToken reports a character of names and methods.
func isToken(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// splitTarget cuts host:port, where the port may be missing. It checks nothing.
func splitTarget(target string) (host, port string) {
	colon := strings.LastIndexByte(target, ':')
	if colon < 0 || strings.HasSuffix(target, "]") {
		return target, ""
	}
	return target[:colon], target[colon+1:]
}

// Shown returns the host and port of the target of a request as they are reported (see
// [Access]): in canonical spelling if it is valid, else what can be printed of it. A user
// and a password before the host are left out.
func Shown(target string) (host string, port int) {
	if scheme, rest, ok := strings.Cut(target, "://"); ok { // as a client asks for plain HTTP
		target = rest
		if end := strings.IndexAny(target, "/?#"); end >= 0 {
			target = target[:end]
		}
		switch strings.ToLower(scheme) {
		case "http":
			port = 80
		case "https":
			port = 443
		}
	}
	target = target[strings.LastIndexByte(target, '@')+1:]
	host, text := splitTarget(target)
	if n, err := strconv.ParseUint(text, 10, 16); err == nil {
		port = int(n)
	}
	if name, err := ParseHost(host); err == nil {
		return name, port
	}
	return printable(host), port
}

// printable returns text in printable ASCII, at most as long as the longest name.
func printable(text string) string {
	b := []byte(text[:min(len(text), maxName)])
	for i, c := range b {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			b[i] = '?'
		}
	}
	return string(b)
}

// Reasons lists why a connection can be refused.
func Reasons() []string {
	return []string{
		ReasonClient, ReasonMethod, ReasonRequest, ReasonToken, ReasonHost, ReasonPort, ReasonDomain,
		ReasonResolve, ReasonAddress, ReasonUnreached, ReasonServerName, ReasonHello, ReasonLimit,
	}
}
