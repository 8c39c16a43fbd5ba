package attack

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// proxyAttacks tries to use the listener of the victim.
func proxyAttacks(ctx context.Context, c Target) []Result {
	var out []Result
	if c.Proxy == "" {
		return out
	}
	theirs, err := url.Parse(c.Proxy)
	if err != nil {
		return []Result{result("the target", err)}
	}
	host, err := netip.ParseAddr(theirs.Hostname())
	if err != nil {
		return []Result{result("the target", err)}
	}
	port, _ := strconv.Atoi(theirs.Port())
	address := unix.SockaddrInet4{Port: port, Addr: host.Unmap().As4()}
	connect := func(kind, protocol int) error {
		fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, protocol)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Connect(fd, &address)
	}
	out = append(out,
		result("connect to its listener", connect(unix.SOCK_STREAM, 0)),
		result("connect to its listener by MPTCP", connect(unix.SOCK_STREAM, 262)),
		result("send a packet to its listener", connect(unix.SOCK_DGRAM, 0)),
		result("connect to its listener with the first data", fastOpen(&address)),
		result("a socket with a name", connectUnix("\x00attack")),
		result("a socket in its tmp", connectUnix(c.Tmp+"/socket")),
		result("listen at a port", listenAnywhere(false)),
		result("listen at a port that it did not ask for", listenAnywhere(true)),
	)
	out = append(out, scan(host)...)

	own, err := url.Parse(os.Getenv("HTTPS_PROXY"))
	if err != nil || own.Host == "" {
		return out // it has no listener
	}
	for attack, user := range map[string]*url.Userinfo{"own-listener: its host": own.User, "own-listener: its host, with its token": theirs.User, "own-listener: its host, without a token": nil} {
		out = append(out, ask(ctx, attack, own.Host, user, c.Host))
	}
	return out
}

// scan tries all other ports of the machine that has the listener, and of this one.
func scan(host netip.Addr) []Result {
	own, _ := url.Parse(os.Getenv("HTTPS_PROXY"))
	except := 0
	if own != nil && own.Port() != "" {
		except, _ = strconv.Atoi(own.Port())
	}
	out := []Result{result("any port of the proxy", unix.EACCES), result("any port of this machine", unix.EACCES)}
	for i, at := range [][4]byte{host.Unmap().As4(), {127, 0, 0, 1}} {
		for p := 1; p < 65536; p++ {
			if p == except {
				continue
			}
			fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				out[i] = result(out[i].Attack, err)
				break
			}
			err = unix.Connect(fd, &unix.SockaddrInet4{Port: p, Addr: at})
			unix.Close(fd)
			if word(err) != Denied { // also one that is only on its way
				out[i] = Result{Attack: out[i].Attack, Outcome: Reached, Detail: fmt.Sprintf("port %d: %v", p, err)}
				break
			}
		}
	}
	return out
}

func fastOpen(to unix.Sockaddr) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Sendto(fd, []byte("CONNECT"), unix.MSG_FASTOPEN, to)
}

func connectUnix(name string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, &unix.SockaddrUnix{Name: name})
}

func listenAnywhere(unbound bool) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if !unbound {
		if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return err
		}
	}
	return unix.Listen(fd, 1)
}

// ask asks a proxy for a tunnel.
func ask(ctx context.Context, attack, proxy string, user *url.Userinfo, host string) Result {
	conn, status, err := tunnel(ctx, proxy, user, host)
	switch {
	case conn == nil && err != nil:
		return Result{Attack: attack, Outcome: Broken, Detail: err.Error()}
	case err != nil: // closed without a word
		conn.Close()
		return Result{Attack: attack, Outcome: Refused, Detail: err.Error()}
	}
	conn.Close()
	if status == http.StatusOK {
		return Result{Attack: attack, Outcome: Reached}
	}
	return Result{Attack: attack, Outcome: Refused, Detail: http.StatusText(status)}
}

// tunnel connects to a proxy and asks for a host. The connection is there even if the
// proxy did not answer.
func tunnel(ctx context.Context, proxy string, user *url.Userinfo, host string) (net.Conn, int, error) {
	d := net.Dialer{Timeout: 10 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", proxy)
	if err != nil {
		return nil, 0, err
	}
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	credentials := ""
	if user != nil {
		password, _ := user.Password()
		credentials = "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s:443 HTTP/1.1\r\nHost: %s:443\r\n%s\r\n", host, host, credentials); err != nil {
		return conn, 0, err
	}
	// Nothing follows the head of an open tunnel before the client has spoken.
	response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return conn, 0, err
	}
	return conn, response.StatusCode, response.Body.Close()
}
