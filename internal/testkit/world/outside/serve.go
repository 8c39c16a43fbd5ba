package outside

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/perstack-go/perstack/internal/testkit/llm"
)

// Roles of the program.
const (
	RoleDNS  = "dns"
	RoleWeb  = "web"
	RoleTrap = "trap"
	RoleLLM  = "llm"
	// RoleRelay is a proxy that others go through; see [relay].
	RoleRelay = "relay"
)

// Where servers listen. The trap listens at every port that an attacker could try.
var (
	encryptedPorts = []int{443, 8443}
	plainPorts     = []int{80, 8080}
	bannerPorts    = []int{22, 25, 53, 853, 2375, 3128, 6443}
	packetPorts    = []int{53, 123, 443}
)

// Options say what a server is.
type Options struct {
	Role   string
	Dir    string // ca.pem, ca.key, and scripts of the model below scripts/
	Places Places // for the name server and the relay
	Out    io.Writer
	Sync   <-chan os.Signal // each has the server tell that all was told
}

// Serve plays a role until ctx is done.
func Serve(ctx context.Context, o Options) error {
	t := &entryWriter{role: o.Role, out: o.Out}
	var err error
	switch o.Role {
	case RoleDNS:
		err = t.names(ctx, o.Places)
	case RoleWeb, RoleTrap:
		err = t.sites(ctx, o.Dir, hello)
	case RoleLLM:
		l := &library{dir: filepath.Join(o.Dir, "scripts"), of: map[string]*llm.Server{}}
		err = t.sites(ctx, o.Dir, l.answer)
	case RoleRelay:
		err = t.relays(ctx, o.Places)
	default:
		err = fmt.Errorf("%q is no role; use dns, web, trap, llm or relay", o.Role)
	}
	if err != nil {
		return err
	}
	t.tell(Entry{Kind: KindReady})
	for count := int64(1); ; count++ {
		select {
		case <-ctx.Done():
			return nil
		case <-o.Sync:
			t.tell(Entry{Kind: KindSync, Count: count, Pings: pings()})
		}
	}
}

// names opens the ports of the name server.
func (t *entryWriter) names(ctx context.Context, places Places) error {
	s := &nameServer{entryWriter: t, liar: &liar{places: places, asked: map[string]int{}}}
	packets, err := listenPacket(ctx, 53)
	if err != nil {
		return err
	}
	connections, err := listen(ctx, 53)
	if err != nil {
		return err
	}
	go s.packets(packets)
	go accept(ctx, connections, s.connection)
	return nil
}

// sites opens the ports of a web server.
func (t *entryWriter) sites(ctx context.Context, dir string, answer func(http.ResponseWriter, *http.Request, []byte)) error {
	certificate, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return err
	}
	key, err := os.ReadFile(filepath.Join(dir, "ca.key"))
	if err != nil {
		return err
	}
	authority, err := ReadAuthority(certificate, key)
	if err != nil {
		return err
	}
	s := &site{entryWriter: t, authority: authority, answer: answer}
	open := func(ports []int, serve func(net.Listener)) {
		for _, port := range ports {
			l, e := listen(ctx, port)
			if e != nil {
				err = errors.Join(err, e)
				continue
			}
			go serve(reportingListener{l, t})
		}
	}
	open(encryptedPorts, func(l net.Listener) { s.serve(l, true) })
	open(plainPorts, func(l net.Listener) { s.serve(l, false) })
	open(bannerPorts, func(l net.Listener) { accept(ctx, l, banner) })
	for _, port := range packetPorts {
		conn, e := listenPacket(ctx, port)
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		go t.echo(conn)
	}
	return err
}

func listen(ctx context.Context, port int) (net.Listener, error) {
	var c net.ListenConfig
	return c.Listen(ctx, "tcp4", ":"+strconv.Itoa(port))
}

func listenPacket(ctx context.Context, port int) (net.PacketConn, error) {
	var c net.ListenConfig
	return c.ListenPacket(ctx, "udp4", ":"+strconv.Itoa(port))
}

// pings counts the echo requests that the kernel has answered: no program sees them.
func pings() int64 {
	f, err := os.Open("/proc/net/snmp")
	if err != nil {
		return 0
	}
	defer f.Close()
	var names []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0] != "Icmp:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if name == "InEchos" && i < len(fields) {
				n, _ := strconv.ParseInt(fields[i], 10, 64)
				return n
			}
		}
	}
	return 0
}
