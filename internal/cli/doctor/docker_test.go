package doctor

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit/daemon"
)

// A daemon that accepts connections and never answers fails the check, and no other one.
func TestSilentDaemon(t *testing.T) {
	dir, err := os.MkdirTemp("", "d") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	socket := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	p := newPatient(t)
	p.opts.Host.Environ = []string{"DOCKER_HOST=unix://" + socket}
	p.opts.Patience = time.Second
	r, _ := p.checked()
	if c := r.check("docker"); c.Status != Fail || c.Detail != "there was no answer within 1s" {
		t.Errorf("%+v", c)
	}
	if c := r.check("sandbox"); c.Status != OK {
		t.Errorf("%+v", c)
	}
}

// A real daemon is found, with the program for its containers.
func TestRealDaemon(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	daemon.Need(t)
	p := newPatient(t)
	p.opts.Host.Environ = os.Environ()
	binary := daemon.Binary(t)
	p.set("PERSTACK_LINUX_BINARY", binary)
	r, _ := p.checked()
	if c := r.check("docker"); c.Status != OK && c.Status != Warn || !strings.HasPrefix(c.Detail, "daemon ") {
		t.Errorf("%+v", c)
	}
	if c := r.check("docker.program"); c.Status != OK || c.Detail != binary {
		t.Errorf("%+v", c)
	}
	p.opts.Host.Environ = p.opts.Host.Environ[:len(p.opts.Host.Environ)-1]
	r, _ = p.checked()
	if c := r.check("docker.program"); c.Status != Info || !strings.Contains(c.Detail, "static perstack") {
		t.Errorf("%+v", c)
	}
}
