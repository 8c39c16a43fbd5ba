//go:build unix

package test

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/testkit/node"
)

// Clients of the original publish, resolve, tag, deprecate and unpublish on a real perstackd over TLS, both
// generations, with the fetch of Node: no redirect, every answer JSON, every member of the form that they accept.
func TestOriginalClients(t *testing.T) {
	components := node.Need(t)
	program, err := exec.LookPath("perstackd")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data, cert, key := filepath.Join(dir, "data"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	writeCertificate(t, cert, key)
	// The first generation refuses a registry without TLS.
	server := exec.CommandContext(t.Context(), program, "registry", "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--data", data)
	url, _, err := launchDaemon(server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	admin := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program, append([]string{"registry", "admin", "--data", data}, args...)...).Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	admin("org", "create", "acme")
	script, err := filepath.Abs("testdata/original/clients.mjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), components.Node(), script, url, admin("key", "create", "acme", "--role", "owner"), "acme")
	cmd.Env = append(os.Environ(), "NODE_MODULES="+components.Modules(), "NODE_EXTRA_CA_CERTS="+cert)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var want strings.Builder
	for _, generation := range []string{"one", "two"} {
		want.WriteString(strings.ReplaceAll(originalSession, "GENERATION", generation))
	}
	if diff := cmp.Diff(want.String(), string(out)); diff != "" {
		t.Error(diff)
	}
}

// originalSession is what both generations get.
const originalSession = `GENERATION publish @acme/worker-GENERATION@1.0.0
GENERATION publish @acme/lead-GENERATION@1.0.0
GENERATION publish @acme/lead-GENERATION@1.1.0
GENERATION publish again 400 Bad Request: Version 1.1.0 is already published
GENERATION resolve @acme/lead-GENERATION@1.1.0 @acme/worker-GENERATION@1.0.0 @acme/worker-GENERATION@1.0.0
GENERATION skills 0 0 0 ask-user
GENERATION list @acme/lead-GENERATION@1.1.0
GENERATION tag latest,stable
GENERATION tag older old,stable
GENERATION tag none (none)
GENERATION status deprecated
GENERATION versions 1.1.0,1.0.0 latest 1.1.0
GENERATION unpublish a delegate 400 Bad Request: Expert is delegated to other experts
GENERATION unpublish 0
GENERATION latest @acme/lead-GENERATION@1.0.0
GENERATION gone 404 Not Found: Expert not found
`

// writeCertificate writes the certificate for 127.0.0.1 that Go's test servers have, and its key.
func writeCertificate(t *testing.T, certFile, keyFile string) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	pair := server.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
