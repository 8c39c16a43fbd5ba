package probe

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// reach dials past every proxy. It counts as reached when the connection stands, or when
// a packet is answered.
func reach(ctx context.Context, network, address string) Result {
	d := net.Dialer{Timeout: patience}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return unreachable(err)
	}
	defer conn.Close()
	if strings.HasPrefix(network, "tcp") {
		return Result{Outcome: Reached, Detail: address + " accepts connections"}
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, "probe"); err != nil {
		return Result{Outcome: Dead, Detail: err.Error()}
	}
	answer := make([]byte, 512)
	n, err := conn.Read(answer)
	if err != nil {
		return Result{Outcome: Dead, Detail: err.Error()}
	}
	return Result{Outcome: Reached, Detail: fmt.Sprintf("%s answers %.60q", address, answer[:n])}
}

// unreachable tells a kernel that says no from a network without an answer.
func unreachable(err error) Result {
	if errors.Is(err, fs.ErrPermission) {
		return Result{Outcome: Denied, Detail: err.Error()}
	}
	return Result{Outcome: Dead, Detail: err.Error()}
}

// reachAll tries several addresses; one that is reached is enough, and one that is not
// denied shows that not all are.
func reachAll(ctx context.Context, network string, addresses []string) Result {
	results := make([]Result, len(addresses))
	var wait sync.WaitGroup
	for i, a := range addresses {
		wait.Go(func() { results[i] = reach(ctx, network, a) })
	}
	wait.Wait()
	if len(results) == 0 {
		return Result{Outcome: Broken, Detail: "nothing to try"}
	}
	for _, outcome := range []string{Reached, Dead} {
		for _, r := range results {
			if r.Outcome == outcome {
				return r
			}
		}
	}
	return results[0]
}

// routeRows try every way that does not go through the proxy.
func routeRows(c Config) []Row {
	ports := func(address string, numbers ...int) (list []string) {
		for _, n := range numbers {
			list = append(list, net.JoinHostPort(address, strconv.Itoa(n)))
		}
		return list
	}
	row := func(id, promise, what, network string, addresses []string) Row {
		return Row{ID: id, Promise: promise, What: what, Want: []string{Dead}, run: func(ctx context.Context, _ *Probe) Result {
			return reachAll(ctx, network, addresses)
		}}
	}
	var machine []string
	for _, a := range c.Machine {
		machine = append(machine, net.JoinHostPort(a, strconv.Itoa(c.Port)))
	}
	return []Row{
		row("tcp-outside", "N1 A16", "TCP to a server outside, past the proxy", "tcp", append(ports(c.Trap, 443, 80, 22, 25, 8443, 3128), ports(c.Web, 443, 80)...)),
		row("tcp-provider", "N1", "TCP to the model's service, past the proxy", "tcp", ports(c.LLM, 443)),
		row("tcp-internet", "N1", "TCP to well-known servers", "tcp", []string{"1.1.1.1:443", "8.8.8.8:443", "93.184.215.14:80"}),
		row("udp-outside", "N1", "UDP to a server outside: DNS, NTP, QUIC", "udp", append(ports(c.Trap, 53, 123, 443), ports(c.Web, 443)...)),
		row("tcp6-outside", "N1", "TCP over IPv6", "tcp6", []string{"[2606:4700:4700::1111]:443", "[2001:4860:4860::8888]:53", "[fe80::1%eth0]:80"}),
		row("udp6-outside", "N1", "UDP over IPv6", "udp6", []string{"[2606:4700:4700::1111]:53", "[ff02::1%eth0]:5353"}),
		row("metadata", "N1 A1 A3 A7", "the cloud's metadata service", "tcp", []string{"169.254.169.254:80", "169.254.170.2:80", "[fd00:ec2::254]:80"}),
		row("loopback", "N1 A4", "port 80 of the container's own loopback", "tcp", []string{"127.0.0.1:80", "[::1]:80"}),
		row("host-tcp", "N1 A5", "a service on the host, at each of its addresses", "tcp", machine),
		row("host-udp", "N1", "the same over UDP", "udp", machine),
		{ID: "gateway", Promise: "N1 A5", What: "the gateway of the container's network: the host", Want: []string{Dead}, run: func(ctx context.Context, p *Probe) Result {
			gateways, err := gateways()
			if errors.Is(err, fs.ErrPermission) { // then by custom: the first of the proxy's network
				gateways, err = p.firstBesideProxy()
			}
			if err != nil {
				return Result{Outcome: Broken, Detail: err.Error()}
			}
			var addresses []string
			for _, g := range gateways {
				addresses = append(addresses, ports(g, c.Port, 22, 53, 80, 2375, 2376)...)
			}
			return reachAll(ctx, "tcp", addresses)
		}},
		{ID: "other-hosts", Promise: "N1", What: "other machines of the outside, such as the proxy's outer address", Want: []string{Dead}, run: func(ctx context.Context, _ *Probe) Result {
			web, err := netip.ParseAddr(c.Web)
			if err != nil {
				return Result{Outcome: Broken, Detail: err.Error()}
			}
			a, addresses := web.As4(), []string(nil)
			for last := range 40 {
				a[3] = byte(last + 1)
				addresses = append(addresses, ports(netip.AddrFrom4(a).String(), 3128, 443)...)
			}
			return reachAll(ctx, "tcp", addresses)
		}},
		{ID: "icmp", Promise: "N1", What: "a ping to a server outside", Want: []string{Dead, Denied}, run: func(ctx context.Context, _ *Probe) Result { return ping(ctx, c.Trap) }},
		{ID: "raw-socket", Promise: "N1 K1", What: "a raw socket, and one below IP", Want: []string{Denied}, run: func(context.Context, *Probe) Result { return rawSockets() }},
	}
}

// firstBesideProxy is the first address of the network that the proxy is on.
func (p *Probe) firstBesideProxy() ([]string, error) {
	own, err := p.proxy()
	if err != nil {
		return nil, err
	}
	address, err := netip.ParseAddr(own.Hostname())
	if err != nil {
		return nil, err
	}
	a := address.As4()
	a[3] = 1
	return []string{netip.AddrFrom4(a).String()}, nil
}

// gateways are the addresses that packets for elsewhere are sent to, and the first of
// each network that the container is on, which is the host's by custom.
func gateways() ([]string, error) {
	f, err := os.Open("/proc/net/route")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var found []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 8 || fields[0] == "Iface" {
			continue
		}
		destination, gateway := littleEndian(fields[1]), littleEndian(fields[2])
		if gateway.IsValid() && !gateway.IsUnspecified() {
			found = append(found, gateway.String())
		}
		if destination.IsValid() && !destination.IsUnspecified() {
			found = append(found, destination.Next().String())
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no network at all")
	}
	return found, lines.Err()
}

func littleEndian(text string) netip.Addr {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 4 {
		return netip.Addr{}
	}
	return netip.AddrFrom4([4]byte{b[3], b[2], b[1], b[0]})
}
