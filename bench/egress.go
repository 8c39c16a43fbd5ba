//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// egress measures the proxy as a program: how much it adds to the time that opening a
// connection takes, and an answer in an open one; how fast it carries; and what a hundred
// tunnels cost in memory.
//
// The proxy connects to public addresses only, and here are none. So it gets an upstream
// proxy, which is the server as well: a client that uses it directly has the same path with one
// hop less.
func egress(ctx context.Context, p programs) ([]figure, error) {
	server, err := newSource(ctx)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	proxy, err := startProxy(ctx, p.perstack, server.Addr().String())
	if err != nil {
		return nil, err
	}
	defer proxy.stop()
	idle, err := proxy.memory(ctx)
	if err != nil {
		return nil, err
	}
	ways := []string{server.Addr().String(), proxy.address}
	opened, err := compareTimes(ways, 300, func(address string) (time.Duration, error) {
		begin := time.Now()
		c, err := openTunnel(ctx, address)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		err = c.get(1)
		return time.Since(begin), err
	})
	if err != nil {
		return nil, err
	}
	tunnels, closeAll, err := openTunnels(ctx, ways, 1)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	trips, err := compareTimes(ways, 3000, func(address string) (time.Duration, error) {
		begin := time.Now()
		err := tunnels[address][0].get(1)
		return time.Since(begin), err
	})
	if err != nil {
		return nil, err
	}
	one, err := compareTimes(ways, 9, func(address string) (time.Duration, error) {
		begin := time.Now()
		err := tunnels[address][0].get(128 << 20)
		return time.Since(begin), err
	})
	if err != nil {
		return nil, err
	}
	hundred, peak, err := hundredTunnels(ctx, ways, proxy)
	if err != nil {
		return nil, err
	}
	ratio := func(of [][]time.Duration, part float64) float64 {
		return float64(quantile(of[1], part)) / float64(quantile(of[0], part))
	}
	added := func(of [][]time.Duration, part float64) float64 {
		return float64(quantile(of[1], part)-quantile(of[0], part)) / float64(time.Microsecond)
	}
	return []figure{
		{"egress: open a connection through the proxy, to direct, p50", ratio(opened, 0.5), 8, "%.2f"},
		{"egress: the same, p99", ratio(opened, 0.99), 0, "%.2f"},
		{"egress: what the proxy adds to opening, p50, µs", added(opened, 0.5), 0, "%.0f"},
		{"egress: what the proxy adds to opening, p99, µs", added(opened, 0.99), 0, "%.0f"},
		{"egress: an answer through a tunnel, to direct, p50", ratio(trips, 0.5), 5, "%.2f"},
		{"egress: the same, p99", ratio(trips, 0.99), 0, "%.2f"},
		{"egress: what it adds to an answer, p50, µs", added(trips, 0.5), 0, "%.0f"},
		{"egress: what it adds to an answer, p99, µs", added(trips, 0.99), 0, "%.0f"},
		{"egress: time for 128 MB through a tunnel, to direct", ratio(one, 0), 4, "%.2f"},
		{"egress: throughput of one tunnel, MB/s", 128 / quantile(one[1], 0).Seconds(), 0, "%.0f"},
		{"egress: time for 400 MB through 100 tunnels at once, to direct", ratio(hundred, 0), 4, "%.2f"},
		{"egress: throughput of 100 tunnels, MB/s", 400 / quantile(hundred[1], 0).Seconds(), 0, "%.0f"},
		{"egress: memory of the proxy, MB", idle, 30, "%.1f"},
		{"egress: memory while 100 tunnels carry, MB", peak, 45, "%.1f"},
		{"egress: memory of one of them, KB", (peak - idle) * 1024 / 100, 150, "%.0f"},
	}, nil
}

// hundredTunnels lets all tunnels carry at once, and returns the times and the memory of
// the proxy after that.
func hundredTunnels(ctx context.Context, ways []string, proxy *proxyProcess) (times [][]time.Duration, peak float64, err error) {
	const size = 4 << 20
	tunnels, closeAll, err := openTunnels(ctx, ways, 100)
	if err != nil {
		return nil, 0, err
	}
	defer closeAll()
	times, err = compareTimes(ways, 5, func(address string) (time.Duration, error) {
		begin := time.Now()
		var all sync.WaitGroup
		errs := make([]error, len(tunnels[address]))
		for i, t := range tunnels[address] {
			all.Go(func() { errs[i] = t.get(size) })
		}
		all.Wait()
		for _, err := range errs {
			if err != nil {
				return 0, err
			}
		}
		return time.Since(begin), nil
	})
	if err != nil {
		return nil, 0, err
	}
	peak, err = proxy.memory(ctx)
	return times, peak, err
}

// compareTimes does the same in several ways by turns, n times, and returns the sorted
// times of each.
func compareTimes(ways []string, n int, do func(address string) (time.Duration, error)) ([][]time.Duration, error) {
	all := make([][]time.Duration, len(ways))
	for range n {
		for i, address := range ways {
			took, err := do(address)
			if err != nil {
				return nil, err
			}
			all[i] = append(all[i], took)
		}
	}
	for _, times := range all {
		slices.Sort(times)
	}
	return all, nil
}

// quantile takes a part of sorted times; 0 is the least.
func quantile(sorted []time.Duration, part float64) time.Duration {
	return sorted[min(int(part*float64(len(sorted))), len(sorted)-1)]
}

// A proxyProcess is perstack egress, as it runs in the container.
type proxyProcess struct {
	cmd     *exec.Cmd
	stdin   *os.File
	address string
}

func startProxy(ctx context.Context, program, upstream string) (*proxyProcess, error) {
	free, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxyProcess{address: free.Addr().String()}
	if err := free.Close(); err != nil {
		return nil, err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.stdin = out
	p.cmd = exec.CommandContext(ctx, program, "egress", "--policy", "-")
	p.cmd.Stdin, p.cmd.Stderr = in, os.Stderr
	ready := make(chan struct{})
	var once sync.Once
	p.cmd.Stdout = writerFunc(func(b []byte) (int, error) {
		if bytes.Contains(b, []byte(`"ready"`)) {
			once.Do(func() { close(ready) })
		}
		return len(b), nil
	})
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintf(p.stdin, `{"listeners":[{"name":"bench","address":%q,"allow":[%q]}],"upstream":"http://%s"}`+"\n", p.address, tunnelHost, upstream); err != nil {
		return nil, err
	}
	select {
	case <-ready:
		return p, nil
	case <-time.After(time.Minute):
		p.stop()
		return nil, fmt.Errorf("%s is not ready", p.cmd)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (p *proxyProcess) stop() {
	_ = p.stdin.Close()
	_ = p.cmd.Wait()
}

// memory returns the resident memory in MB.
func (p *proxyProcess) memory(ctx context.Context) (float64, error) {
	out, err := exec.CommandContext(ctx, "ps", "-o", "rss=", "-p", strconv.Itoa(p.cmd.Process.Pid)).Output()
	if err != nil {
		return 0, fmt.Errorf("ps: %w", err)
	}
	kilobytes, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	return kilobytes / 1024, err
}
