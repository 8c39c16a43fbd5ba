package hostile

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// The attacks work where nothing prevents them, and fail where there is nothing to attack.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go answerTunnels(listener)
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer packets.Close()
	go echo(packets)
	socket, err := net.Listen("unix", filepath.Join(filepath.Dir(file), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	tcp, udp := listener.Addr().String(), packets.LocalAddr().String()
	good := []string{
		Read + "=" + file, Read + "=" + filepath.Dir(file), Write + "=" + file, Connect + "=" + tcp, Sleep + "=1",
		Rename + "=" + file, Grow + "=" + file, Datagram + "=" + udp, Query + "=" + udp, Query + "=" + tcp, Socket + "=" + socket.Addr().String(),
		Tunnel + "=" + tcp + "|good.test:443", Fill + "=" + file + ".fill", Make + "=" + file + ".make", Use + "=1048576",
	}
	bad := []string{
		Read + "=" + file + "x", Write + "=" + file + "x", Connect + "=127.0.0.1:0", Sleep + "=x", Flood + "=x",
		Rename + "=" + file + "x", Grow + "=/nowhere/x", Fill + "=" + file, Make + "=" + file, Use + "=x", Datagram + "=127.0.0.1:1", Query + "=127.0.0.1:1", Socket + "=" + file, Tasks + "=x",
		Tunnel + "=" + tcp + "|bad.test:443", Tunnel + "=127.0.0.1:1|good.test:443",
	}
	if runtime.GOOS == "linux" {
		good = append(good, Others+"=all")
		bad = append(bad, Has+"=nothing")
	}
	var out bytes.Buffer
	args := slices.Concat([]string{"plain", "a=b"}, good, bad)
	if err := Run(t.Context(), Process{Args: args, Environ: []string{"A=b"}, Dir: "/x", Stdin: strings.NewReader("more"), Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Did, good) || len(r.Failed) != len(bad) {
		t.Errorf("did %q, failed %q", r.Did, r.Failed)
	}
	if !slices.Equal(r.Args, args) || !slices.Equal(r.Environ, []string{"A=b"}) || r.Dir != "/x" || r.Stdin != 1 {
		t.Errorf("%+v", r)
	}
}

// answerTunnels is a proxy that allows one host. Other requests it answers, too.
func answerTunnels(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			data := make([]byte, 512)
			n, _ := conn.Read(data)
			answer := "HTTP/1.1 403 Forbidden"
			if strings.HasPrefix(string(data[:n]), "CONNECT good.test:443 ") {
				answer = "HTTP/1.1 200 OK"
			}
			_, _ = conn.Write([]byte(answer))
		}()
	}
}

func echo(conn net.PacketConn) {
	data := make([]byte, 512)
	for {
		n, from, err := conn.ReadFrom(data)
		if err != nil {
			return
		}
		_, _ = conn.WriteTo(data[:n], from)
	}
}

func TestSay(t *testing.T) {
	var out bytes.Buffer
	if err := Run(t.Context(), Process{Args: []string{NoInput, Say + "=hello"}, Stdout: &out}); err != nil || !strings.HasPrefix(out.String(), "hello{") {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestFlood(t *testing.T) {
	var out bytes.Buffer
	if err := Run(t.Context(), Process{Args: []string{NoInput, Flood + "=" + strconv.Itoa(1<<20)}, Stdout: &out}); err != nil || out.Len() < 1<<20 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
}

// The server answers requests, and nothing else.
func TestServe(t *testing.T) {
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`no JSON`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"silent"}}`,
	}, "\n") + "\n"
	var out bytes.Buffer
	if err := Run(t.Context(), Process{Args: []string{Serve + "=changed"}, Stdin: strings.NewReader(in), Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"2025-06-18"`) || !strings.Contains(lines[1], "read all keys") || !strings.Contains(lines[2], `"id":"x"`) {
		t.Errorf("%q", lines)
	}
	if got := answer(ToolHuge); len(got) < 64<<20 {
		t.Errorf("%d bytes", len(got))
	}
	if !strings.Contains(answer(ToolDeep), strings.Repeat("[", 1000)) {
		t.Error("the deep answer is not deep")
	}
}
