package selftest

import (
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/testkit"
)

// The check proves an effect: it passes on a kernel that enforces policies, and each of its
// attempts works outside of one.
func TestIsolation(t *testing.T) {
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	spec := Spec{Work: t.TempDir(), Proxy: &url.URL{Scheme: "http", Host: listener.Addr().String()}}
	if found, err := isolation(t.Context(), spec); err != nil || !strings.HasSuffix(found, "denied 4 things") {
		t.Errorf("%q, %v", found, err)
	}
	if err := errors.Join(open(spec.Work), open("/proc/1/status"), connectTo(t.Context(), netip.MustParseAddrPort(listener.Addr().String()))); err != nil {
		t.Errorf("without a policy: %v", err)
	}
	abstract, err := net.Listen("unix", "@perstack-"+rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	if err := connectUnix(abstract.Addr()); err != nil {
		t.Errorf("without a policy: %v", err)
	}
}

// A policy that refuses everything is no proof.
func TestIsolationThatProvesNothing(t *testing.T) {
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
	for _, spec := range []Spec{
		{Work: "/no-such-directory"},
		{Work: t.TempDir(), Proxy: &url.URL{Scheme: "http", Host: "proxy:4000"}},
	} {
		if found, err := isolation(t.Context(), spec); err == nil {
			t.Errorf("%+v: %q, %v", spec, found, err)
		}
	}
	if found, err := isolation(t.Context(), Spec{SharedSandbox: true}); err != nil || !strings.Contains(found, "share") {
		t.Errorf("%q, %v", found, err)
	}
}
