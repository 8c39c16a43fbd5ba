package daemon

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/registry/trust"
)

// startWitness starts a witness, and reads its address and its key.
func startWitness(t *testing.T, data string, more ...string) (url, key string, stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, w := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := Main(ctx, newHost(t, w, io.Discard), append([]string{"witness", "--listen", "127.0.0.1:0", "--data", data}, more...))
		w.Close()
		ended <- code
	}()
	stop = func() int { cancel(); return <-ended }
	lines := bufio.NewScanner(out)
	for key == "" && lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "Witness: "); ok {
			url = text
		}
		if text, ok := strings.CutPrefix(lines.Text(), "Key:     "); ok {
			key = text
		}
	}
	if key == "" {
		t.Fatalf("the witness did not start: exit code %d", stop())
	}
	return url, key, stop
}

// A registry gets the cosignatures of its witness, a client that requires them is satisfied, and metrics count them.
func TestServeWithWitness(t *testing.T) {
	data, witnessData := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "witness")
	first := serve(t, data)
	logKey := first.logKey
	first.stop()
	at, key, stop := startWitness(t, witnessData, "--name", "example.com/w1", "--log", logKey)
	defer stop()
	r := serve(t, data, "--metrics-listen", "127.0.0.1:0", "--limit", "reads-per-minute=0", "--limit", "reads-per-hour=0", "--witness", key+" "+at)
	defer r.stop()
	cosigned := func() {
		for t.Context().Err() == nil {
			if _, text := get(t, r.url+api.LogPath+"/checkpoint", ""); strings.Contains(text, "\n— example.com/w1 ") {
				return
			}
		}
	}
	cosigned()
	c, err := client.New(client.Options{
		BaseURL: r.url, Insecure: true, HTTP: http.DefaultClient, Trust: trust.Open(t.TempDir()), Clock: time.Now, LogKey: logKey,
		Witnesses: []string{key}, RequireWitnesses: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	report, err := c.Audit(t.Context(), "", nil)
	if err != nil || len(report.Cosignatures) != 1 || !strings.HasPrefix(key, report.Cosignatures[0].Witness+"+") {
		t.Fatal(report, err)
	}
	if _, body := get(t, r.url+api.DiscoveryPath, ""); !strings.Contains(body, key) {
		t.Error("discovery does not name the witness:", body)
	}
	if _, body := get(t, r.metrics, ""); !strings.Contains(body, `outcome="stored"} 1`) || !strings.Contains(body, "perstack_registry_cosigned_leaves") {
		t.Error(body)
	}
	info, err := os.Stat(filepath.Join(witnessData, "witness.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
}

// The key of a witness stays the same, and only one process has it.
func TestWitnessRestarts(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "new", "witness")
	registry := serve(t, filepath.Join(dir, "registry"))
	registry.stop()
	_, first, stop := startWitness(t, data, "--log", registry.logKey)
	if _, errs, code := call(t, "witness", "--listen", "127.0.0.1:0", "--data", data, "--log", registry.logKey); code != host.ExitUsage || !strings.Contains(errs, "another process") {
		t.Error(code, errs)
	}
	stop()
	_, second, stop := startWitness(t, data, "--name", "other", "--log", registry.logKey)
	stop()
	if first != second || !strings.HasPrefix(first, "localhost/witness+") {
		t.Error(first, second)
	}
}

func TestWitnessUsage(t *testing.T) {
	for args, want := range map[string]string{
		"witness":                        "name the key of at least one log",
		"witness --log x":                "is not the key of a log",
		"witness --log x --name a+b":     "cannot name a witness",
		"witness x":                      "cosigns the logs",
		"registry --witness x":           "must be the key of a witness and its address",
		"registry --witness a+b+c@https": "must be the key of a witness and its address",
	} {
		_, errs, code := call(t, append(strings.Fields(args), "--data", t.TempDir())...)
		if code != host.ExitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: %d %s", args, code, errs)
		}
	}
}
