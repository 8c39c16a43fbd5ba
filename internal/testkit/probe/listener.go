package probe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tokenRows try their own listener without its token.
func tokenRows(c Config) []Row {
	bare := func(id, what, header string) Row {
		return Row{ID: id, Promise: "N3", What: what, Want: []string{Refused}, Event: "blocked token", run: func(ctx context.Context, p *Probe) Result {
			return p.request(ctx, "CONNECT "+c.Open()+":443 HTTP/1.1\r\nHost: "+c.Open()+"\r\n"+header+"\r\n", c.Open())
		}}
	}
	return []Row{
		bare("token-none", "its own listener without the token", ""),
		bare("token-wrong", "its own listener with another token", "Proxy-Authorization: Basic cGVyc3RhY2s6d3Jvbmc=\r\n"),
		bare("token-empty", "its own listener with an empty token", "Proxy-Authorization: Basic cGVyc3RhY2s6\r\n"),
	}
}

// listenerRows try the listeners of the proxy that belong to others.
func listenerRows(Config) []Row {
	return []Row{
		{ID: "listeners", Promise: "N3", What: "every other open port of the proxy's machine: the engine's listener, other skills' listeners", Want: []string{Refused}, alone: true, run: func(ctx context.Context, p *Probe) Result {
			return p.otherListeners(ctx)
		}},
	}
}

// TriesPerListener is how often the row listeners tries each listener: three hosts, three tokens.
const TriesPerListener = 9

// otherListeners scans the proxy's machine and asks every listener but its own for hosts that
// only others may reach, without a token and with its own.
func (p *Probe) otherListeners(ctx context.Context) Result {
	own, err := p.proxy()
	if err != nil {
		return Result{Outcome: Broken, Detail: err.Error()}
	}
	open, denied := scan(ctx, own.Hostname())
	if slices.Equal(open, []int{mustPort(own)}) && denied == 65534 {
		return Result{Outcome: Denied, Detail: "every port but its own listener"}
	}
	var seen []string
	for _, port := range open {
		if strconv.Itoa(port) == own.Port() {
			continue
		}
		seen = append(seen, strconv.Itoa(port))
		for _, host := range []string{p.Provider, p.Other, p.Open()} {
			for _, header := range []string{"", credentials(own), credentials(&url.URL{User: url.UserPassword("perstack", "")})} {
				address := net.JoinHostPort(own.Hostname(), strconv.Itoa(port))
				t, err := sayTo(ctx, address, "CONNECT "+host+":443 HTTP/1.1\r\nHost: "+host+":443\r\n"+header+"\r\n")
				if err != nil {
					continue // closed without a word
				}
				t.Close()
				if t.status == http.StatusOK {
					return Result{Outcome: Reached, Detail: fmt.Sprintf("port %d leads to %s", port, host)}
				}
			}
		}
	}
	if !slices.Contains(open, mustPort(own)) {
		return Result{Outcome: Broken, Detail: "the scan does not even find its own listener"}
	}
	if len(seen) == 0 {
		return Result{Outcome: Broken, Detail: "there are no other listeners, and the engine must have one"}
	}
	return Result{Outcome: Refused, Detail: "listeners at " + strings.Join(seen, " ")}
}

func mustPort(u *url.URL) int {
	n, _ := strconv.Atoi(u.Port())
	return n
}

// scan finds the open TCP ports of a machine, and counts those that the kernel denies.
func scan(ctx context.Context, host string) (open []int, denied int) {
	var mu sync.Mutex
	var wait sync.WaitGroup
	ports := make(chan int)
	for range 64 {
		wait.Go(func() {
			d := net.Dialer{Timeout: 5 * time.Second}
			for port := range ports {
				conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
				mu.Lock()
				switch {
				case err == nil:
					conn.Close()
					open = append(open, port)
				case errors.Is(err, fs.ErrPermission):
					denied++
				}
				mu.Unlock()
			}
		})
	}
	for port := 1; port < 65536 && ctx.Err() == nil; port++ {
		ports <- port
	}
	close(ports)
	wait.Wait()
	slices.Sort(open)
	return open, denied
}

// skillRows are what a skill with a list of its own tries.
func skillRows(c Config) []Row {
	refused := func(id, host string) Row {
		return Row{ID: "skill-" + id, Promise: "N3 B11 (flipped)", What: "a skill asks for " + host, Want: []string{Refused}, Event: "blocked domain " + host, run: func(ctx context.Context, p *Probe) Result {
			return p.request(ctx, connect(host+":443"), host)
		}}
	}
	return []Row{
		{
			ID: "skill-own", Promise: "N3 B10", What: "control: a skill reaches the host of its own list", Want: []string{Reached}, Event: "allowed " + c.Other, Asks: c.Other,
			run: func(ctx context.Context, p *Probe) Result { return p.request(ctx, connect(c.Other+":443"), c.Other) },
		},
		refused("exec", c.Open()), refused("provider", c.Provider), refused("blocked", c.name("blocked.test")),
	}
}

// driedRows are what a command of an Expert without domains tries.
func driedRows(c Config) []Row {
	refused := func(id, host string) Row {
		return Row{ID: "dried-" + id, Promise: "N3", What: "an empty list: " + host, Want: []string{Refused}, Event: "blocked domain " + host, run: func(ctx context.Context, p *Probe) Result {
			return p.request(ctx, connect(host+":443"), host)
		}}
	}
	return []Row{refused("open", c.Open()), refused("other", c.Other), refused("provider", c.Provider)}
}
