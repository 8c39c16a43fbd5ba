package sandbox

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/sandbox/landlock"
	"github.com/perstack-go/perstack/internal/testkit"
)

// A program that is asked for its version can be anywhere and read files. It can neither write nor
// connect.
func TestVersion(t *testing.T) {
	if err := landlock.Available(); err != nil {
		testkit.Missing(t, err.Error())
	}
	testkit.Need(t, "bash", "node", "npm")
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	dir := t.TempDir()
	tool := filepath.Join(dir, "tool")
	script := "#!/usr/bin/env bash\n" +
		"echo tool 1.2.3 $1\n" +
		"(echo x >written) 2>/dev/null && echo wrote\n" +
		"(exec 3<>/dev/tcp/127.0.0.1/" + strconv.Itoa(server.Addr().(*net.TCPAddr).Port) + ") 2>/dev/null && echo connected\n" +
		"cat \"$0\" >/dev/null && echo read\n"
	if err := os.WriteFile(tool, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s := supervisor(t)
	out, err := s.Version(t.Context(), tool, dir, os.Environ())
	if err != nil || out.Stdout.String() != "tool 1.2.3 --version\nread\n" {
		t.Errorf("%+v, %v", out, err)
	}
	free := shell(t, `"$0" --version`)
	free.Args, free.Dir = append(free.Args, tool), dir
	if got := run(t, free).Stdout.String(); got != "tool 1.2.3 --version\nwrote\nconnected\nread\n" {
		t.Errorf("without a sandbox it says %q", got)
	}
	for _, name := range []string{"node", "npm"} {
		out, err := s.Version(t.Context(), name, "/", os.Environ())
		if err != nil || out.ExitCode != 0 || !strings.Contains(out.Stdout.String(), ".") {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}
