package squid

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestLog(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"3128 TCP_TUNNEL 200 - - 93.184.216.34 1000 2000 CONNECT api.example.com:443", "{1 engine true api.example.com 443  93.184.216.34} 1000 2000"},
		{"3128 TCP_TUNNEL_ABORTED 200 - - 93.184.216.34 1 2 CONNECT api.example.com:443", "{1 engine true api.example.com 443  93.184.216.34} 1 2"},
		{"3129 TCP_DENIED 403 ERR_ACCESS_DENIED domain - 34 3392 CONNECT evil.test:443", "{1 skill false evil.test 443 domain }"},
		{"3129 TCP_DENIED 403 ERR_ACCESS_DENIED host - 34 3392 CONNECT %5B::1%5D:443", "{1 skill false [::1] 443 host }"},
		{"3129 TCP_DENIED 403 ERR_ACCESS_DENIED host - 34 3392 CONNECT a%0A3128%20TCP_TUNNEL:443", "{1 skill false a?3128?TCP_TUNNEL 443 host }"},
		{"3129 TCP_DENIED 403 ERR_ACCESS_DENIED host - 34 3392 CONNECT a%1B%5B31m%0", "{1 skill false a%1B%5B31m%0 0 host }"},
		{"3129 TCP_DENIED 403 ERR_ACCESS_DENIED method - 34 3392 GET http://u:p@api.example.com/x?k=v", "{1 skill false api.example.com 80 method }"},
		{"3129 TCP_DENIED 403 ERR_ACCESS_DENIED - - 34 3392 CONNECT evil.test:443", "{1 skill false evil.test 443 domain }"},
		{"3129 NONE_NONE 400 - - - 9 3361 - error:invalid-request", "{1 skill false  0 request }"},
		{"3129 NONE_NONE 431 - - - 9 3361 CONNECT error:request-too-large", "{1 skill false  0 request }"},
		{"3129 NONE_NONE 500 ERR_CANNOT_FORWARD - - 39 0 CONNECT none.test:443", "{1 skill false none.test 443 resolve }"},
		{"3129 NONE_NONE 503 ERR_CONNECT_FAIL - 93.184.216.34 39 0 CONNECT deaf.test:443", "{1 skill false deaf.test 443 unreached }"},
		{"3129 NONE_NONE 0 - - - 39 0 CONNECT left.test:443", "{1 skill false left.test 443 unreached }"},
		{"3129 NONE_NONE 0 - - - 0 0 - error:transaction-end-before-headers", "EOF"},

		{"3131 TCP_TUNNEL 200 - - 93.184.216.34 1 2 CONNECT api.example.com:443", "names port 3131, where no listener is"},
		{"3129 TCP_TUNNEL 200 - - 93.184.216.34 1 2 CONNECT api.example.com:443", "which listener \"skill\" does not allow"},
		{"3130 TCP_TUNNEL 200 - - 93.184.216.34 1 2 CONNECT other.example:443", "which listener \"shut\" does not allow"},
		{"3128 TCP_TUNNEL 200 - - 93.184.216.34 1 2 CONNECT api.example.com:22", "which listener \"engine\" does not allow"},
		{"3128 TCP_TUNNEL 200 - - 169.254.169.254 1 2 CONNECT api.example.com:443", "an address that is not public"},
		{"3128 TCP_TUNNEL 200 - - - 1 2 CONNECT api.example.com:443", "an address that is not public"},
		{"3128 TCP_TUNNEL 200 - - 93.184.216.34 1 2 CONNECT api.example.com:443 x", errEntry.Error()},
		{"3128 TCP_TUNNEL 200 - - 93.184.216.34 1 2 CONNECT", errEntry.Error()},
		{"3128 TCP_TUNNEL 2000 - - 93.184.216.34 1 2 CONNECT api.example.com:443", errEntry.Error()},
		{"70000 TCP_TUNNEL 200 - - 93.184.216.34 1 2 CONNECT api.example.com:443", errEntry.Error()},
		{"3128 TCP_TUNNEL 200 - - 93.184.216.34 x 2 CONNECT api.example.com:443", errEntry.Error()},
		{"3128 TCP_TUNNEL 200 - - 93.184.216.34 1 2 CONNECT api.example.com:443\r", errEntry.Error()},
		{"3128 TCP_TUNNEL 200 - - 93.184.216.34 1 2 CONNECT аpi.example.com:443", errEntry.Error()},
		{"", errEntry.Error()},
		{strings.Repeat("x", maxEntry), "more than 4096 bytes"},
	} {
		l, err := NewLog(strings.NewReader(c.line+"\n"), threeListeners())
		if err != nil {
			t.Fatal(err)
		}
		a, closed, err := l.Next()
		got := fmt.Sprint(a)
		switch {
		case err != nil:
			got = err.Error()
		case closed != nil:
			got += fmt.Sprint(" ", closed.Sent, " ", closed.Received)
		}
		if got != c.want && (err == nil || !strings.Contains(got, c.want)) {
			t.Errorf("%.90s\n got %s\nwant %s", c.line, got, c.want)
		}
	}
	l, _ := NewLog(strings.NewReader("3128 TCP_TUNNEL"), threeListeners())
	if _, _, err := l.Next(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("half a line: %v", err)
	}
}

// No line makes the reader panic or let through what the listeners do not.
func FuzzLog(f *testing.F) {
	f.Add("3128 TCP_TUNNEL 200 - - 93.184.216.34 1000 2000 CONNECT api.example.com:443")
	f.Add("3129 TCP_DENIED 403 ERR_ACCESS_DENIED host - 34 3392 CONNECT %5B::1%5D:443")
	f.Fuzz(func(t *testing.T, line string) {
		l, err := NewLog(strings.NewReader(line+"\n"), threeListeners())
		if err != nil {
			t.Fatal(err)
		}
		for {
			a, closed, err := l.Next()
			if err != nil {
				return
			}
			if a.Allowed != (closed != nil) || a.Allowed && a.Listener == "shut" || strings.ContainsAny(a.Host, " \n\x1b") || len(a.Host) > 253 {
				t.Errorf("%q becomes %+v", line, a)
			}
		}
	})
}
