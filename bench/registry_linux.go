package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/trust"
)

// registry measures a registry as a program, with many Experts in it: what publishing, searching, listing and
// resolving take beside a handler that answers with the same bytes, and the memory of the server. Every
// Expert has five versions. BENCH_EXPERTS=20000 measures as many; loading them takes minutes.
func registry(ctx context.Context, dir string, p programs) ([]figure, error) {
	experts := 1000
	if text := os.Getenv("BENCH_EXPERTS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("BENCH_EXPERTS is a number: %w", err)
		}
		experts = n
	}
	const versions = 5
	data := filepath.Join(dir, "..", "registry")
	s, err := startRegistry(ctx, p.perstackd, data)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	all, err := s.counts(ctx, dir, data)
	if err != nil {
		return nil, err
	}
	published, err := s.load(ctx, experts, versions)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		name  string
		limit float64
		ask   func() (*http.Request, error)
	}{
		{"search", 0, s.get(ctx, "/experts?q=expert-77")},
		{"search for what all have", 0, s.get(ctx, "/experts?q=number+77")},
		{"list of 100", 0, s.get(ctx, "/experts?take=100")},
		{"resolve of one version", 0, s.resolve(ctx, "@acme/expert-1@1.0.3")},
	} {
		times, answer, err := s.repeat(c.ask, 200)
		if err != nil {
			return nil, err
		}
		bare, err := bareTimes(ctx, answer, 200)
		if err != nil {
			return nil, err
		}
		all = append(all,
			figure{fmt.Sprintf("registry with %d versions: %s, p50 to a bare handler", experts*versions, c.name), float64(at(times, 50)) / float64(at(bare, 50)), c.limit, "%.1f"},
			figure{"  p50 in ms", at(times, 50).Seconds() * 1000, 0, "%.2f"},
			figure{"  p99 in ms", at(times, 99).Seconds() * 1000, 0, "%.2f"})
	}
	all = append(all, figure{"registry: publish, p50 in ms", at(published, 50).Seconds() * 1000, 0, "%.2f"}, figure{"registry: publish, p99 in ms", at(published, 99).Seconds() * 1000, 0, "%.2f"})
	if err := s.checkLast(ctx, dir, experts-1, versions-1); err != nil {
		return nil, err
	}
	memory, err := peakMemory(s.cmd.Process.Pid)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(filepath.Join(data, "registry.db"))
	if err != nil {
		return nil, err
	}
	return append(all,
		figure{"registry: memory of the server in MB", memory / 1024, 80, "%.0f"},
		figure{"registry: database in KB for each version", float64(info.Size()) / 1024 / float64(experts*versions), 0, "%.1f"}), nil
}

// at returns a percentile.
func at(times []time.Duration, percent int) time.Duration {
	slices.Sort(times)
	return times[min(len(times)*percent/100, len(times)-1)]
}

// A served is a registry that runs as a program.
type served struct {
	cmd              *exec.Cmd
	url, logKey, key string
	stop             func()
}

func startRegistry(ctx context.Context, program, data string) (*served, error) {
	cmd := exec.CommandContext(ctx, program, "registry", "--data", data, "--listen", "127.0.0.1:0",
		"--limit", "reads-per-minute=0", "--limit", "reads-per-hour=0", "--limit", "key-reads-per-minute=0", "--limit", "publishes-per-hour=0", "--limit", "publishes-per-day=0", "--limit", "new-names-per-day=0")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	s := &served{cmd: cmd, stop: func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}}
	first := ""
	for lines := bufio.NewScanner(out); first == "" && lines.Scan(); {
		line := lines.Text()
		if url, ok := strings.CutPrefix(line, "Registry: "); ok {
			s.url = url
		}
		if key, ok := strings.CutPrefix(line, "Log key:  "); ok {
			s.logKey = key
		}
		if strings.HasPrefix(line, "psk_") {
			first = line
		}
	}
	if first == "" {
		s.stop()
		return nil, errors.New("the registry did not start")
	}
	s.key = first
	for path, body := range map[string]any{"/orgs": map[string]string{"name": "acme", "type": "team"}} {
		if _, err := s.send(ctx, path, body); err != nil {
			s.stop()
			return nil, err
		}
	}
	text, err := s.send(ctx, "/keys", api.CreateKey{Organization: "acme", Scopes: []string{"read", "publish"}})
	var made api.CreatedKey
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	s.key = made.Token
	return s, nil
}

func (s *served) request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, s.url+api.V2+path, bytes.NewReader(text))
	if err == nil {
		r.Header.Set("Authorization", "Bearer "+s.key)
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}

func (s *served) get(ctx context.Context, path string) func() (*http.Request, error) {
	return func() (*http.Request, error) { return s.request(ctx, http.MethodGet, path, nil) }
}

func (s *served) resolve(ctx context.Context, key string) func() (*http.Request, error) {
	return func() (*http.Request, error) {
		return s.request(ctx, http.MethodPost, "/resolve", api.Resolve{Keys: []string{key}, Closure: true})
	}
}

func (s *served) send(ctx context.Context, path string, body any) ([]byte, error) {
	r, err := s.request(ctx, http.MethodPost, path, body)
	if err != nil {
		return nil, err
	}
	return reply(http.DefaultClient, r)
}

func reply(with *http.Client, r *http.Request) ([]byte, error) {
	response, err := with.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", r.URL.Path, response.Status, text)
	}
	return text, err
}

// load publishes Experts, eight at once, and returns how long each publication took.
func (s *served) load(ctx context.Context, experts, versions int) (took []time.Duration, err error) {
	next := make(chan int)
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range next {
				for v := range versions {
					begin := time.Now()
					_, failed := s.send(ctx, "/experts", api.Publish{Content: published(n, v)})
					mu.Lock()
					took, err = append(took, time.Since(begin)), errors.Join(err, failed)
					mu.Unlock()
				}
			}
		})
	}
	for n := range experts {
		mu.Lock()
		failed := err != nil
		mu.Unlock()
		if failed {
			break
		}
		next <- n
	}
	close(next)
	all.Wait()
	return took, err
}

// published is the definition of an Expert, of the size of a usual one.
func published(n, v int) []byte {
	d := definitionOf(fmt.Sprintf("@acme/expert-%d", n), fmt.Sprintf("1.0.%d", v))
	d.Description = fmt.Sprintf("Number %d of many, which knows its way around.", n)
	return d.Encode()
}

func definitionOf(name, version string) *definition.Definition {
	return &definition.Definition{
		Schema: definition.Schema, Name: name, Version: version, MinRuntimeVersion: "v1.0",
		Description: "One of a team.", Instruction: strings.Repeat("Look at every file, and say what it is for. ", 30),
		Skills: map[string]definition.Skill{
			expert.BaseSkill: {Type: expert.StdioSkill, Command: "npx", PackageName: expert.BaseSkill},
			"search":         {Type: expert.StdioSkill, Command: "npx", PackageName: "search@1.2.3", RequiredEnv: []string{"SEARCH_TOKEN"}},
		},
	}
}

// repeat asks the same many times, and returns how long each answer took.
func (s *served) repeat(ask func() (*http.Request, error), times int) (took []time.Duration, last []byte, err error) {
	for range times {
		r, err := ask()
		if err != nil {
			return nil, nil, err
		}
		begin := time.Now()
		if last, err = reply(http.DefaultClient, r); err != nil {
			return nil, nil, err
		}
		took = append(took, time.Since(begin))
	}
	return took, last, nil
}

// bareTimes asks a handler that has its answer ready.
func bareTimes(ctx context.Context, text []byte, times int) (took []time.Duration, err error) {
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	defer bare.Close()
	for range times {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, bare.URL, nil)
		if err != nil {
			return nil, err
		}
		begin := time.Now()
		if _, err := reply(bare.Client(), r); err != nil {
			return nil, err
		}
		took = append(took, time.Since(begin))
	}
	return took, nil
}

// checkLast lets a client prove that the last version is in the log.
func (s *served) checkLast(ctx context.Context, dir string, n, v int) error {
	c, err := client.New(client.Options{
		BaseURL: s.url, Insecure: true, LogKey: s.logKey, HTTP: http.DefaultClient, Trust: trust.Open(filepath.Join(dir, "..", "trust")), Clock: time.Now,
	})
	if err != nil {
		return err
	}
	_, err = c.Resolve(ctx, fmt.Sprintf("@acme/expert-%d@1.0.%d", n, v))
	return err
}
