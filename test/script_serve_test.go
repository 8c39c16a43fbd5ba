package test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveFiles serves a directory over TLS. The script finds its address in $SERVER, and perstack
// trusts its certificate.
func serveFiles(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve directory")
	}
	server := httptest.NewTLSServer(http.FileServer(http.Dir(ts.MkAbs(args[0]))))
	ts.Defer(server.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	file := filepath.Join(ts.Getenv("WORK"), "authority.pem")
	ts.Check(os.WriteFile(file, certificate, 0o600))
	ts.Setenv("SERVER", server.URL)
	ts.Setenv("PERSTACK_TEST_AUTHORITY", file)
}
