//go:build unix

package test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/postgres"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
)

// A registry that is killed in the middle of publishing has each version wholly or not at all, the log and the
// tables agree, and what was answered is never lost.
func TestPerstackdKilled(t *testing.T) {
	program, err := exec.LookPath("perstackd")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("SQLite", func(t *testing.T) { killRegistry(t, program) })
	t.Run("PostgreSQL", func(t *testing.T) { killRegistry(t, program, "--database", postgres.Start(t).Database(t)) })
}

func killRegistry(t *testing.T, program string, place ...string) {
	place = append(place, "--data", filepath.Join(t.TempDir(), "data"))
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), program, append(append([]string{"registry"}, args...), place...)...).Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	start := func() (*exec.Cmd, string) {
		t.Helper()
		args := append([]string{"registry", "--listen", "127.0.0.1:0", "--limit", "publishes-per-hour=0", "--limit", "publishes-per-day=0", "--limit", "reads-per-minute=0", "--limit", "reads-per-hour=0"}, place...)
		cmd := exec.CommandContext(t.Context(), program, args...)
		url, _, err := launchDaemon(cmd)
		if err != nil {
			t.Fatal(err)
		}
		return cmd, url
	}
	first, _ := start()
	_ = first.Process.Kill()
	_ = first.Wait()
	run("admin", "org", "create", "acme")
	key := run("admin", "key", "create", "acme")
	rounds := 8
	if testing.Short() {
		rounds = 2
	}
	answered := map[string]bool{}
	random := testkit.Random(t)
	for round := range rounds {
		cmd, url := start()
		for _, version := range publishUntilKilled(t, cmd, url, key, round, 1+random.IntN(10)) {
			answered[version] = true
		}
		if out := run("verify"); !strings.Contains(out, "Everything is as the log says.") {
			t.Fatal(out)
		}
	}
	cmd, url := start()
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for version := range answered {
		response, err := http.Get(url + api.V2 + "/experts/@acme/busy@" + version + "/content")
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s was published, and is lost: %s", version, response.Status)
		}
	}
	if len(answered) < rounds {
		t.Errorf("only %d versions were published", len(answered))
	}
}

// publishUntilKilled publishes from several clients at once, and kills the server after some of them. It
// returns the versions that the server said it has published.
func publishUntilKilled(t *testing.T, cmd *exec.Cmd, url, key string, round, left int) (done []string) {
	const clients = 4
	published := make(chan string)
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for n := 0; ; n++ {
				version := fmt.Sprintf("%d.%d.%d", round, client, n)
				if !publishVersion(t, url, key, version) {
					return
				}
				published <- version
			}
		})
	}
	go func() { all.Wait(); close(published) }()
	for ; ; left-- { // the others are in the middle of something
		version, ok := <-published
		if !ok {
			break
		}
		done = append(done, version)
		if left == 0 {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Process.Kill() // if publishing ended before
	_ = cmd.Wait()
	return done
}

// publishVersion reports whether the server says that it has published a version.
func publishVersion(t *testing.T, url, key, version string) bool {
	body, err := json.Marshal(api.Publish{Content: registrytest.Minimal("@acme/busy@" + version).Encode()})
	if err != nil {
		t.Error(err)
		return false
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+api.V2+"/experts", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false // it was killed
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return err == nil && response.StatusCode == http.StatusOK
}
