package probe

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// nameRows try to get a question to a name server outside.
func nameRows(c Config) []Row {
	resolve := func(id, promise, what string, names ...string) Row {
		return Row{ID: id, Promise: promise, What: what, Want: []string{Dead}, run: func(ctx context.Context, _ *Probe) Result {
			return lookUp(ctx, names)
		}}
	}
	ask := func(id, what string, network string, kind uint16, servers ...string) Row {
		return Row{ID: id, Promise: "N7 A22", What: what, Want: []string{Dead}, run: func(ctx context.Context, _ *Probe) Result {
			last := Result{Outcome: Broken}
			for _, server := range servers {
				if last = question(ctx, network, server, c.name("stolen-data.test"), kind); last.Outcome == Reached {
					return last
				}
			}
			return last
		}}
	}
	return []Row{
		resolve("resolve-outside", "N7 A22", "the system's resolver, for a name outside", c.name("blocked.test"), "example.com"),
		resolve("resolve-allowed", "N7", "the same for a host that the proxy would let it reach", c.Open()),
		resolve("resolve-host", "A5", "the names of the host", "host.docker.internal", "gateway.docker.internal"),
		resolve("resolve-metadata", "A2", "the name of a cloud's metadata service", "metadata.google.internal"),
		resolve("resolve-cluster", "A6", "the name of a cluster's API", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"),
		ask("dns-udp", "a question by UDP to servers outside", "udp", 1, net.JoinHostPort(c.DNS, "53"), "8.8.8.8:53"),
		ask("dns-tcp", "a question by TCP to servers outside", "tcp", 1, net.JoinHostPort(c.DNS, "53"), "8.8.8.8:53"),
		ask("dns-docker", "a question to the Docker daemon's own server", "udp", 1, "127.0.0.11:53"),
		ask("dns-docker-text", "the same for a TXT record, whose name carries data out", "udp", 16, "127.0.0.11:53"),
		ask("dns-docker-tcp", "the same by TCP", "tcp", 1, "127.0.0.11:53"),
		ask("dot", "DNS over TLS, past the proxy", "tcp", 1, net.JoinHostPort(c.Trap, "853"), "1.1.1.1:853"),
	}
}

func lookUp(ctx context.Context, names []string) Result {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	var last error
	for _, name := range names {
		addresses, err := net.DefaultResolver.LookupHost(ctx, name)
		if err == nil {
			return Result{Outcome: Reached, Detail: name + " is " + strings.Join(addresses, " ")}
		}
		last = err
	}
	return Result{Outcome: Dead, Detail: last.Error()}
}

// question sends a question to one server. An answer that has no address is none.
func question(ctx context.Context, network, server, name string, kind uint16) Result {
	m := []byte{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(name, ".") {
		m = append(append(m, byte(len(label))), label...)
	}
	m = append(binary.BigEndian.AppendUint16(append(m, 0), kind), 0, 1)
	d := net.Dialer{Timeout: patience}
	conn, err := d.DialContext(ctx, network, server)
	if err != nil {
		return unreachable(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if network == "tcp" {
		m = append(binary.BigEndian.AppendUint16(nil, uint16(len(m))), m...)
	}
	if _, err := conn.Write(m); err != nil {
		return Result{Outcome: Dead, Detail: err.Error()}
	}
	reply := make([]byte, 2048)
	n, err := io.ReadAtLeast(conn, reply, 12)
	if err != nil {
		return Result{Outcome: Dead, Detail: err.Error()}
	}
	reply = reply[:n]
	if network == "tcp" {
		reply = reply[2:]
	}
	if len(reply) >= 8 && binary.BigEndian.Uint16(reply[6:]) == 0 {
		return Result{Outcome: Dead, Detail: fmt.Sprintf("%s answers with code %d and nothing", server, reply[3]&15)}
	}
	return Result{Outcome: Reached, Detail: server + " answers"}
}
