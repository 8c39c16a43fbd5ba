package docker

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// authority makes a certificate, as PEM.
func authority(t *testing.T, name string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Unix(1700000000, 0), NotAfter: time.Unix(4000000000, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func TestRootsIn(t *testing.T) {
	first, second := authority(t, "first"), authority(t, "second")
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("canary-private-key")})
	broken := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("not a certificate")})
	headed := bytes.Replace(second, []byte("-----\n"), []byte("-----\nComment: canary-header\n\n"), 1)

	for _, test := range []struct {
		name    string
		content []byte
		want    []byte
		err     string
	}{
		{name: "as it is", content: bytes.Join([][]byte{first, second}, nil), want: bytes.Join([][]byte{first, second}, nil)},
		{name: "nothing but certificates, once each",
			content: bytes.Join([][]byte{[]byte("# canary-comment\n"), first, key, broken, first, headed, []byte("trailer")}, nil),
			want:    bytes.Join([][]byte{first, second}, nil)},
		{name: "only a key", content: key, err: "there is no certificate in it"},
		{name: "empty", err: "there is no certificate in it"},
		{name: "too large", content: bytes.Repeat([]byte("\n"), maxRoots+1), err: "larger than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "roots.pem")
			if err := os.WriteFile(path, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := RootsIn(path)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), path) {
					t.Errorf("error = %v, want one that says %q and where", err, test.err)
				}
				return
			}
			if err != nil || !bytes.Equal(got, test.want) {
				t.Errorf("RootsIn = %s, %v, want %s", got, err, test.want)
			}
		})
	}
	if _, err := RootsIn(t.TempDir()); err == nil {
		t.Error("a directory is taken")
	}
}

func TestRoots(t *testing.T) {
	roots := Roots()
	count := 0
	for rest := roots; ; count++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil || block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
			t.Errorf("%s %v: %v", block.Type, block.Headers, err)
		}
	}
	if count == 0 {
		t.Error("there are none")
	}
	if !bytes.Equal(Roots(), roots) {
		t.Error("they differ the second time: each run would make an image")
	}
}

func TestMozillaRootsAreTrustedWithoutCondition(t *testing.T) {
	roots := mozillaRoots()
	taken, refused := 0, 0
	for root := range bundle.Roots() {
		in := bytes.Contains(roots, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		if want := root.Constraint == nil; in != want {
			t.Errorf("a root is there: %v, want %v", in, want)
		}
		if in {
			taken++
		} else {
			refused++
		}
	}
	if taken < 50 {
		t.Errorf("%d roots taken, %d refused", taken, refused)
	}
	if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(roots) {
		t.Error("Go cannot read them")
	}
}

func TestPartsTrustWhatTheUserNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "company.pem")
	company := authority(t, "company")
	if err := os.WriteFile(path, company, 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"SSL_CERT_FILE": path, binaryVariable: daemon.Binary(t)}
	spec, err := Parts("", func(name string) string { return env[name] }, runtime.GOARCH)
	if err != nil || !bytes.Equal(spec.Roots, company) {
		t.Errorf("roots = %s, %v", spec.Roots, err)
	}
	env["SSL_CERT_FILE"] = path + ".missing"
	if _, err := Parts("", func(name string) string { return env[name] }, runtime.GOARCH); err == nil || !strings.Contains(err.Error(), "SSL_CERT_FILE") {
		t.Errorf("a file that is missing: %v", err)
	}
}
