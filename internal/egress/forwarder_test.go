package egress

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func forwarder(t *testing.T, reach Reach) (*Forwarder, *http.Client) {
	t.Helper()
	f, err := Forward(t.Context(), func() (Reach, error) { return reach, nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = f.Close() })
	through, err := url.Parse(f.URL())
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{
		Proxy: http.ProxyURL(through), TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
	}}
	t.Cleanup(client.CloseIdleConnections)
	return f, client
}

func server(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	server, err := ServerOf(u)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// What is configured is reached, by http and by https, and nothing else.
func TestForwarder(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("Proxy-Authorization") != "" {
			t.Error("the server sees the token")
		}
		_, _ = io.WriteString(w, "hello from "+q.Host)
	})
	plain, secure := httptest.NewServer(hello), httptest.NewTLSServer(hello)
	t.Cleanup(plain.Close)
	t.Cleanup(secure.Close)
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the other server was reached") }))
	t.Cleanup(other.Close)
	f, client := forwarder(t, Reach{Servers: []string{server(t, plain.URL), server(t, secure.URL)}})
	for _, address := range []string{plain.URL, secure.URL} {
		response, err := client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if string(body) != "hello from "+server(t, address) {
			t.Errorf("%s: %q", address, body)
		}
	}
	secret := strings.Replace(other.URL, "http://", "http://user:secret@", 1)
	for _, address := range []string{other.URL, secret, strings.Replace(other.URL, "http:", "https:", 1), "http://169.254.169.254/x"} {
		response, err := client.Get(address)
		if err == nil {
			_ = response.Body.Close()
		}
		if err == nil && response.StatusCode != http.StatusForbidden {
			t.Errorf("%s: status %d", address, response.StatusCode)
		}
	}
	refused, unreached := f.Close()
	if want := []string{server(t, other.URL), "169.254.169.254:80"}; !slices.Equal(refused, want) || unreached != nil {
		t.Errorf("refused %q, %v", refused, unreached)
	}
}

// Only the program that has the token is served.
func TestForwarderToken(t *testing.T) {
	f, _ := forwarder(t, Reach{Servers: []string{"127.0.0.1:1"}})
	conn, err := net.Dial("tcp", f.url.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusProxyAuthRequired {
		t.Errorf("status %d", response.StatusCode)
	}
}

// A server that does not answer is named, and so is a configuration that is not known.
func TestForwarderUnreached(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	f, client := forwarder(t, Reach{Servers: []string{server(t, closed.URL)}})
	for _, address := range []string{closed.URL, strings.Replace(closed.URL, "http:", "https:", 1)} {
		if response, err := client.Get(address); err == nil {
			_ = response.Body.Close()
		}
	}
	if refused, unreached := f.Close(); len(refused) > 0 || unreached == nil || !strings.Contains(unreached.Error(), server(t, closed.URL)) {
		t.Errorf("refused %q, %v", refused, unreached)
	}
	broken := errors.New("not known")
	f, client = forwarder(t, Reach{})
	f.reach = func() (Reach, error) { return Reach{}, broken }
	if response, err := client.Get(closed.URL); err == nil {
		_ = response.Body.Close()
	}
	if _, unreached := f.Close(); !errors.Is(unreached, broken) {
		t.Errorf("error %v", unreached)
	}
}
