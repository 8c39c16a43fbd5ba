//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// tunnelHost is the name that all tunnels go to.
const tunnelHost = "bench.example.com"

// A tunnel is a connection on which numbers are sent, and so many bytes come back.
type tunnel struct {
	net.Conn
	buf []byte
}

// openTunnel goes the way of a client: CONNECT, and the first messages of TLS, which the proxy
// reads. What follows is not encrypted: it is the proxy that is measured.
func openTunnel(ctx context.Context, address string) (*tunnel, error) {
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s:443 HTTP/1.1\r\n\r\n", tunnelHost); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("CONNECT: %s", resp.Status)
	}
	if _, err := conn.Write(clientHello(ctx)); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(conn, make([]byte, len(serverHello()))); err != nil {
		return nil, err
	}
	return &tunnel{conn, make([]byte, 64<<10)}, nil
}

// openTunnels opens n tunnels to each address.
func openTunnels(ctx context.Context, addresses []string, n int) (tunnels map[string][]*tunnel, closeAll func(), err error) {
	tunnels = map[string][]*tunnel{}
	closeAll = func() {
		for _, all := range tunnels {
			for _, t := range all {
				_ = t.Close()
			}
		}
	}
	for _, address := range addresses {
		for range n {
			t, err := openTunnel(ctx, address)
			if err != nil {
				closeAll()
				return nil, nil, err
			}
			tunnels[address] = append(tunnels[address], t)
		}
	}
	return tunnels, closeAll, nil
}

// get asks for so many bytes and reads them.
func (t *tunnel) get(n int64) error {
	if err := binary.Write(t.Conn, binary.BigEndian, n); err != nil {
		return err
	}
	for n > 0 {
		got, err := t.Read(t.buf[:min(n, int64(len(t.buf)))])
		if err != nil {
			return err
		}
		n -= int64(got)
	}
	return nil
}

// clientHello is what a client of this program says first.
func clientHello(ctx context.Context) []byte {
	c := &helloOnly{}
	_ = tls.Client(c, &tls.Config{ServerName: tunnelHost}).HandshakeContext(ctx) // it fails: there is no server
	return c.said
}

type helloOnly struct {
	net.Conn
	said []byte
}

func (c *helloOnly) Write(p []byte) (int, error)    { c.said = append(c.said, p...); return len(p), nil }
func (*helloOnly) Read([]byte) (int, error)         { return 0, io.EOF }
func (*helloOnly) Close() error                     { return nil }
func (*helloOnly) SetDeadline(time.Time) error      { return nil }
func (*helloOnly) SetWriteDeadline(time.Time) error { return nil }

// serverHello is the answer to it, as far as the proxy reads it: a handshake record with one
// message, of a version and a random value.
func serverHello() []byte {
	const versionAndRandom = 2 + 32
	return append([]byte{22, 3, 3, 0, 4 + versionAndRandom, 2, 0, 0, versionAndRandom}, make([]byte, versionAndRandom)...)
}

// newSource starts the server at the other end: an upstream proxy that is also the server that
// clients ask for.
func newSource(ctx context.Context) (net.Listener, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = answerNumbers(conn)
			}()
		}
	}()
	return l, nil
}

func answerNumbers(conn net.Conn) error {
	in := bufio.NewReader(conn)
	if _, err := http.ReadRequest(in); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return err
	}
	header := make([]byte, 5)
	if _, err := io.ReadFull(in, header); err != nil {
		return err
	}
	if _, err := in.Discard(int(binary.BigEndian.Uint16(header[3:]))); err != nil {
		return err
	}
	if _, err := conn.Write(serverHello()); err != nil {
		return err
	}
	zeros := make([]byte, 64<<10)
	for {
		var n int64
		if err := binary.Read(in, binary.BigEndian, &n); err != nil {
			return err
		}
		if n < 0 {
			return errors.New("less than nothing is asked for")
		}
		for n > 0 {
			wrote, err := conn.Write(zeros[:min(n, int64(len(zeros)))])
			if err != nil {
				return err
			}
			n -= int64(wrote)
		}
	}
}
