//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// memory looks at a run while it waits for its model: at its process on this machine, and
// at what the daemon counts against the limits of its two containers.
func (y *dockerProject) memory(ctx context.Context) (figures []figure, err error) {
	id := "bench" + strings.ToLower(rand.Text())
	cmd := y.inDocker(ctx, "slow.toml", "--job-id", id)()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, interrupt(cmd)) }()
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), `{"type":"startGeneration"`) {
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	go func() { // until it ends, so that it never waits for us
		for lines.Scan() {
		}
	}()
	host, err := (&proxyProcess{cmd: cmd}).memory(ctx)
	if err != nil {
		return nil, err
	}
	figures = []figure{{"docker: memory of the host's process, MB", host, 40, "%.0f"}}
	found, err := y.api.ContainerList(ctx, client.ContainerListOptions{Filters: client.Filters{}.Add("label", "dev.perstack.job="+id)})
	if err != nil {
		return nil, err
	}
	if len(found.Items) != 2 {
		return nil, fmt.Errorf("%s has %d containers, want 2", cmd, len(found.Items))
	}
	slices.SortFunc(found.Items, func(a, b container.Summary) int { return strings.Compare(b.Names[0], a.Names[0]) })
	for _, c := range found.Items {
		name := c.Names[0][strings.LastIndexByte(c.Names[0], '-')+1:]
		used, err := y.memoryOf(ctx, c.ID)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure{"docker: memory of the container " + name + ", MB", used, 40, "%.0f"})
	}
	return figures, nil
}

// memoryOf is what the docker command shows: without files that could be dropped at once.
func (y *dockerProject) memoryOf(ctx context.Context, id string) (float64, error) {
	answer, err := y.api.ContainerStats(ctx, id, client.ContainerStatsOptions{})
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	var stats container.StatsResponse
	if err := json.UnmarshalRead(answer.Body, &stats); err != nil {
		return 0, err
	}
	used := stats.MemoryStats.Usage
	for _, name := range []string{"total_inactive_file", "inactive_file"} { // of control groups 1 and 2
		if files, ok := stats.MemoryStats.Stats[name]; ok {
			used -= min(files, used)
			break
		}
	}
	return float64(used) / (1 << 20), nil
}

// interrupt ends a run as its user would, so that it cleans up.
func interrupt(cmd *exec.Cmd) error {
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return nil // with a code that says so
	}
	return err
}

// requests counts the requests of a run to the daemon, at a relay before it.
func (y *dockerProject) requests(ctx context.Context) (float64, error) {
	network, address, ok := strings.Cut(y.api.DaemonHost(), "://")
	if !ok {
		return 0, fmt.Errorf("%q is no address of an engine", y.api.DaemonHost())
	}
	socket := filepath.Join(y.home, "engine.sock")
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return 0, err
	}
	relay := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}},
		FlushInterval: -1, // the headers of a wait come long before its end
	}
	var count atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count.Add(1)
		relay.ServeHTTP(w, r)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	_, err = y.measured(ctx, 1, 0, func() *exec.Cmd {
		cmd := y.inDocker(ctx, "quick.toml")()
		cmd.Env = append(cmd.Env, "DOCKER_HOST=unix://"+socket)
		return cmd
	})
	err = errors.Join(err, server.Close())
	<-served
	return float64(count.Load()), err
}
