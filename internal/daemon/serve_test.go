package daemon

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
)

// certificate writes a certificate for 127.0.0.1 and its key.
func certificate(t *testing.T, dir string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(signed)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return cert, key, pool
}

// With a certificate the registry speaks TLS, HTTP/2 too, and nothing else. Its log has the name of the public
// address.
func TestServeTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key, pool := certificate(t, dir)
	r := serve(t, filepath.Join(t.TempDir(), "data"), "--tls-cert", cert, "--tls-key", key, "--public-url", "https://registry.example.com/sub/")
	defer r.stop()
	if !strings.HasPrefix(r.logKey, "registry.example.com/sub/log+") {
		t.Errorf("the log key is %s", r.logKey)
	}
	_, address, _ := strings.Cut(strings.TrimSuffix(r.url, ")"), "listening on ")
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	response, err := client.Get("https://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 2 {
		t.Errorf("%s over %s", response.Status, response.Proto)
	}
	// A renewed certificate is used without a restart, and a broken one is not.
	if err := os.WriteFile(cert, []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	reaches := func(pool *x509.CertPool) bool {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
		response, err := client.Get("https://" + address + "/healthz")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil
	}
	if !reaches(pool) {
		t.Error("a broken file took the certificate away")
	}
	_, _, renewed := certificate(t, dir)
	later := time.Now().Add(time.Hour) // a file system can have coarse times
	if err := os.Chtimes(cert, later, later); err != nil {
		t.Fatal(err)
	}
	if !reaches(renewed) || reaches(pool) {
		t.Error("the renewed certificate is not used")
	}
	pool = renewed
	old := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11}}}
	if response, err := old.Get("https://" + address + "/healthz"); err == nil {
		response.Body.Close()
		t.Error("an old version of TLS was accepted")
	}
}

// A request that has begun is answered after the signal, and no new one is.
func TestGracefulShutdown(t *testing.T) {
	r := serve(t, filepath.Join(t.TempDir(), "data"))
	address := strings.TrimPrefix(r.url, "http://")
	connection, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	const body = `{"keys":["missing"]}`
	fmt.Fprintf(connection, "POST %s/resolve HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", api.V2, len(body))
	answers := bufio.NewReader(connection)
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") { // the handler reads the body
		t.Fatal(line, err)
	}
	ended := make(chan int, 1)
	go func() { ended <- r.stop() }()
	for { // until nothing is accepted any more
		other, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		other.Close()
	}
	if _, err := io.WriteString(connection, body); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(answers)
	if err != nil || !strings.Contains(string(rest), "404 Not Found") || !strings.Contains(string(rest), "Expert not found: missing") {
		t.Errorf("%v %s", err, rest)
	}
	<-ended
}

// Metrics have an address of their own.
func TestServeMetrics(t *testing.T) {
	r := serve(t, filepath.Join(t.TempDir(), "data"), "--metrics-listen", "127.0.0.1:0")
	defer r.stop()
	get(t, r.url+"/healthz", "")
	if code, body := get(t, r.metrics, ""); code != http.StatusOK || !strings.Contains(body, `route="/healthz",code="200"} 1`) {
		t.Error(code, body)
	}
}
