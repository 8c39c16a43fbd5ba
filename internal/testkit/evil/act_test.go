package evil_test

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perstack-go/perstack/internal/testkit/evil"
)

// actModes are shown here, and on Unix in act_unix_test.go.
var actModes = []string{"pid", "hunt", "forkbomb", "daemonise", "race", "probe"}

// The positive control: a client of the official library has nothing to complain about.
func TestGoodServerAndRealClient(t *testing.T) {
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(evil.Program(t), "good")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"echo", "add", "fail"}, names); diff != "" {
		t.Error(diff)
	}
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "add", Arguments: object{"a": 20, "b": 22}})
	if err != nil {
		t.Fatal(err)
	}
	if text, ok := result.Content[0].(*mcp.TextContent); !ok || text.Text != "42" || result.IsError {
		t.Errorf("%v", result.Content)
	}
	if result, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"}); err != nil || !result.IsError {
		t.Errorf("fail: %v, %v", result, err)
	}
	if err := session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// The modes and commands are listed, and a wrong one is an error.
func TestCommandHelp(t *testing.T) {
	var out, log strings.Builder
	if code := evil.Command(t.Context(), []string{"--help"}, strings.NewReader(""), &out, &log); code != 0 {
		t.Fatalf("exit code %d: %s", code, &log)
	}
	for _, mode := range evil.Modes() {
		if !strings.Contains(out.String(), "  "+mode.Name+" ") {
			t.Errorf("%s is not listed", mode.Name)
		}
	}
	for _, args := range [][]string{nil, {"nice"}, {"forkbomb", "3"}, {"forkbomb", "9999", "file"}, {"good", "--no-such-flag"}} {
		if code := evil.Command(t.Context(), args, strings.NewReader(""), &out, &log); code == 0 {
			t.Errorf("%q: exit code 0", args)
		}
	}
}

func TestProbe(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	defer secure.Close()
	parrot := echoServer(t)
	closed := closedPort(t)
	targets := []string{
		"tcp://" + web.Listener.Addr().String(),
		"udp://" + parrot,
		web.URL,
		secure.URL,
		"dns://" + nameServer(t) + "/canary.example",
		"tcp://" + closed,
		"http://" + closed,
		"dns://" + closed + "/example.com",
		"tcp://192.0.2.1:443",
		"http://example.com/",
		"gopher://127.0.0.1/",
	}
	c := dial(t, evil.Options{Mode: "probe", Targets: targets})
	c.hello()
	var got struct{ Probes []evil.Probe }
	if err := json.Unmarshal([]byte(c.call("probe", nil)), &got, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	for i, p := range got.Probes {
		if want := i < 5; p.Reached != want || p.Target != targets[i] || p.Detail == "" {
			t.Errorf("%+v, want reached %t", p, want)
		}
	}
	if len(got.Probes) != len(targets) {
		t.Errorf("%d of %d targets", len(got.Probes), len(targets))
	}
}

// A network of the test may be named; then the attempt is made.
func TestProbeNamedNetwork(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so that nothing leaves the machine
	got := evil.ProbeAll(ctx, []string{"tcp://192.0.2.1:443"}, []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")})
	if got[0].Reached || !strings.Contains(got[0].Detail, "cancel") {
		t.Errorf("%+v", got)
	}
}

// echoServer sends back UDP packets.
func echoServer(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1024)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if _, err := conn.WriteTo(buf[:n], from); err != nil {
				return
			}
		}
	}()
	return conn.LocalAddr().String()
}

// nameServer answers every question for an IPv4 address with 127.0.0.9, and every other
// with nothing.
func nameServer(t *testing.T) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1024)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			// The header has 12 bytes, the question ends after its name with type and class.
			end := 12 + bytes.IndexByte(buf[12:n], 0) + 5
			reply := append([]byte{buf[0], buf[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, buf[12:end]...)
			if buf[end-3] == 1 {
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 9)
			}
			if _, err := conn.WriteTo(reply, from); err != nil {
				return
			}
		}
	}()
	return conn.LocalAddr().String()
}

// closedPort is an address at which no server listens any more.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A hunt repeats what the test planted, and of everything else not a letter.
func TestHuntInFiles(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	put(t, filepath.Join(dir, ".env"), "PLANTED_KEY=canary-7\nOTHER_TOKEN=real-secret\n")
	put(t, filepath.Join(dir, "deep", "er", "x"), "")
	put(t, filepath.Join(home, ".aws", "credentials"), "aws_secret_access_key=real-secret\n")
	t.Setenv("HUNTED_SECRET", "canary-8")
	found := evil.Hunt(t.Context(), evil.HuntOptions{Marker: "canary-", Dir: filepath.Join(dir, "deep", "er"), Home: home, Levels: 1})
	all, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(all), "real-secret") {
		t.Error("a secret that was not planted is repeated")
	}
	for place, want := range map[string][]string{
		filepath.Join(dir, ".env"):                 {"PLANTED_KEY=canary-7"},
		filepath.Join(home, ".aws", "credentials"): nil,
		"environment": {"HUNTED_SECRET=canary-8"},
	} {
		i := slices.IndexFunc(found, func(f evil.Find) bool { return f.Place == place })
		if i < 0 || found[i].Secrets == 0 || !slices.Equal(found[i].Planted, want) {
			t.Errorf("%s: %+v", place, found)
		}
	}
}

// until polls for something without a notification.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
