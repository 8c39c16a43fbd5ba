package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// The attacks on the network, besides [Connect]. The servers that an audit starts for them answer
// with what they get, so an answer shows that the attack reached the machine.
const (
	Datagram = "udp"    // a datagram to address:port
	Query    = "dns"    // a DNS query to address:port, by UDP and then by TCP
	Socket   = "unix"   // a connection to a Unix socket; @name is an abstract one
	Tunnel   = "tunnel" // a tunnel through a proxy: PROXY|HOST:PORT
)

// silence is how long an answer may take that comes from the same machine.
const silence = time.Second

func overNetwork(ctx context.Context, name, value string) error {
	switch name {
	case Datagram:
		return exchange(ctx, "udp", value, []byte("x"))
	case Query:
		byUDP := exchange(ctx, "udp", value, query)
		if byUDP == nil {
			return nil
		}
		byTCP := exchange(ctx, "tcp", value, append([]byte{0, byte(len(query))}, query...))
		if byTCP == nil {
			return nil
		}
		return errors.Join(byUDP, byTCP)
	case Socket:
		conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "unix", value)
		if err != nil {
			return err
		}
		return conn.Close()
	}
	proxy, host, _ := strings.Cut(value, "|")
	return tunnel(ctx, proxy, host)
}

// query asks for the address of canary.example.com.
var query = []byte("\x7f\x3a\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x06canary\x07example\x03com\x00\x00\x01\x00\x01")

// exchange sends bytes and waits for the first one of an answer.
func exchange(ctx context.Context, network, address string, data []byte) error {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(silence)); err != nil {
		return err
	}
	if _, err := conn.Write(data); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	return err
}

// tunnel asks a proxy for a connection to a host.
func tunnel(ctx context.Context, proxy, host string) error {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(ctx, "tcp", proxy)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host); err != nil {
		return err
	}
	const success = "HTTP/1.1 200"
	status := make([]byte, len(success))
	if _, err := io.ReadFull(conn, status); err != nil {
		return err
	}
	if string(status) != success {
		return fmt.Errorf("the proxy answered %q", status)
	}
	return nil
}
