package egress

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

func TestReadRequest(t *testing.T) {
	for text, want := range map[string]request{
		"CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Basic eA==\r\n\r\n": {method: "CONNECT", target: "a.example:443", header: map[string]string{"host": "a.example:443", "proxy-authorization": "Basic eA=="}},
		"CONNECT a.example:443 HTTP/1.0\r\n\r\n":                                                           {method: "CONNECT", target: "a.example:443", header: map[string]string{}},
		"CONNECT a.example:443 HTTP/1.1\r\nUSER-agent:\t x y \t\r\nEmpty:\r\n\r\n\x16\x03":                 {method: "CONNECT", target: "a.example:443", header: map[string]string{"user-agent": "x y", "empty": ""}, rest: []byte("\x16\x03")},
		"GET http://a.example/ HTTP/1.1\r\n\r\n":                                                           {method: "GET", target: "http://a.example/", header: map[string]string{}},
		"CONNECT a:443 HTTP/1.1\r\nContent-Length: 0\r\n\r\nrest":                                          {method: "CONNECT", target: "a:443", header: map[string]string{"content-length": "0"}, rest: []byte("rest")},
	} {
		for _, whole := range []bool{true, false} {
			in := iotest.OneByteReader(strings.NewReader(text))
			if whole {
				in = strings.NewReader(text)
			} else {
				want.rest = nil // it was not read yet
			}
			got, err := readRequest(in)
			if err != nil || got.method != want.method || got.target != want.target || !bytes.Equal(got.rest, want.rest) || len(got.header) != len(want.header) {
				t.Errorf("%q: got %+v, %v; want %+v", text, got, err, want)
			}
			for name, value := range want.header {
				if got.header[name] != value {
					t.Errorf("%q: header %s is %q", text, name, got.header[name])
				}
			}
		}
	}

	const line = "CONNECT a.example:443 HTTP/1.1\r\n"
	for _, text := range []string{
		"\x16\x03\x01", "\r\n", " CONNECT a:443 HTTP/1.1\r\n\r\n", "\x00",
		"CONNECT a:443\r\n\r\n", "CONNECT  a:443 HTTP/1.1\r\n\r\n", "CONNECT a:443 HTTP/1.1 \r\n\r\n", "CONNECT a:443 b HTTP/1.1\r\n\r\n", "CONNECT\ta:443\tHTTP/1.1\r\n\r\n", "CONNECT  HTTP/1.1\r\n\r\n",
		"CON@NECT a:443 HTTP/1.1\r\n\r\n", "CONNECT\xc3\xa9 a:443 HTTP/1.1\r\n\r\n",
		"CONNECT a:443 HTTP/2.0\r\n\r\n", "CONNECT a:443 HTTP/1.2\r\n\r\n", "CONNECT a:443 http/1.1\r\n\r\n", "CONNECT a:443 HTTP/1.1x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"CONNECT a:443 HTTP/1.1\n\n", "CONNECT a:443 HTTP/1.1\nHost: a\r\n\r\n", "CONNECT a:443 HTTP/1.1\r\rHost: a\r\n\r\n",
		line + "Host : a\r\n\r\n", line + " Host: a\r\n\r\n", line + "A: b\r\n c\r\n\r\n", line + "A: b\r\n\tc: d\r\n\r\n", line + "Host\r\n\r\n", line + ": x\r\n\r\n", line + "A\x00: b\r\n\r\n",
		line + "A: b\x00\r\n\r\n", line + "A: b\rc\r\n\r\n", line + "A: b\nC: d\r\n\r\n", line + "A: \xe9\r\n\r\n", line + "A: \x7f\r\n\r\n",
		line + "Host: a\r\nhost: a\r\n\r\n", line + "A: 1\r\nA: 1\r\n\r\n",
		line + "Content-Length: 1\r\n\r\n", line + "Content-Length: 00\r\n\r\n", line + "Content-Length: 0, 0\r\n\r\n", line + "Content-Length:\r\n\r\n", line + "Transfer-Encoding: chunked\r\n\r\n", line + "transfer-encoding: identity\r\n\r\n",
		line + "Upgrade: websocket\r\n\r\n", line + "Expect: 100-continue\r\n\r\n", line + "Trailer: a\r\n\r\n",
		line + "A: b\r\n", line, "C",
		line + strings.Repeat("a", maxHead), line + "A: " + strings.Repeat("a", maxHead) + "\r\n\r\n",
		line + strings.Repeat("A: b\r\n", maxHeaders+1) + "\r\n",
	} {
		if got, err := readRequest(strings.NewReader(text)); err == nil || errors.Is(err, errNothing) || strings.ContainsAny(err.Error(), "\r\n\x00") {
			t.Errorf("%.80q: got %+v, %v", text, got, err)
		}
	}
	if _, err := readRequest(strings.NewReader("")); !errors.Is(err, errNothing) {
		t.Errorf("nothing: %v", err)
	}
}

// What is reported of a host is safe to print, and no password.
func TestShownHost(t *testing.T) {
	for target, want := range map[string]string{
		"A.Example.:443": "a.example 443", "a.example": "a.example 0", "user:pw@a.example:443": "a.example 443", "[::1]:443": "[::1] 443", "[::1]": "[::1] 0",
		"http://A.example/x?key=secret": "a.example 80", "https://a.example": "a.example 443", "http://u:p@a.example:8080/": "a.example 8080", "a:99999": "a 0", "a:-1": "a 0",
		"\x1b[31mred\x1b[0m:443": "?[31mred?[0m 443", "b\u202eücher:443": "b?????cher 443", `a"b\:1`: "a?b? 1", "": " 0",
		strings.Repeat("é", 300): strings.Repeat("?", 253) + " 0",
	} {
		host, port := Shown(target)
		if got := host + " " + strconv.Itoa(port); got != want {
			t.Errorf("%q: got %q, want %q", target, got, want)
		}
	}
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte("CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n"))
	f.Add([]byte("CONNECT a.example:443 HTTP/1.1\r\nHost: a\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\nrest"))
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := readRequest(bytes.NewReader(data))
		host, _ := Shown(q.target)
		for _, c := range []byte(host) {
			if c <= ' ' || c > '~' {
				t.Fatalf("%q is shown", host)
			}
		}
		if err != nil {
			return
		}
		// What is accepted here means the same to net/http, if that accepts it.
		std, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
		if err != nil {
			return
		}
		if std.Method != q.method || std.RequestURI != q.target || len(std.TransferEncoding) > 0 || q.method == "CONNECT" && std.ContentLength > 0 {
			t.Fatalf("net/http reads %s %s, we %s %s", std.Method, std.RequestURI, q.method, q.target)
		}
		for name, value := range q.header {
			if name != "host" && std.Header.Get(name) != value {
				t.Fatalf("net/http reads %s: %q, we %q", name, std.Header.Get(name), value)
			}
		}
	})
}
