package rules

import (
	"fmt"
	"strings"
)

// libraries lists every library that we import, with the packages that may import it
// outside tests. A library for tests alone has none.
var libraries = []struct {
	path  string
	users string
	job   string
}{
	{"github.com/go-json-experiment/json", "...", "strict JSON"},
	{"github.com/pelletier/go-toml/v2", "internal/toml internal/providers/replay internal/providers/replay/turns", "TOML"},
	{"golang.org/x/text", "internal/filename internal/columns", "Unicode forms of names, widths of characters"},
	{"charm.land/bubbletea/v2", "internal/tui/...", "the screen and the keys of the full-screen program"},
	{"github.com/clipperhouse/uax29", "internal/columns", "where one character ends and the next begins, as the terminal library sees it"},
	{"golang.org/x/sys", "internal/filelock internal/opendir internal/workspace/... internal/sandbox/... internal/owner internal/protect store/file internal/cli/answers internal/cli/host internal/cli/prompt internal/tui/plain internal/tui/guard", "system calls"},
	{"golang.org/x/net/publicsuffix", "internal/netaddr", "below which domains anybody can have a name"},
	{"golang.org/x/net/http/httpproxy", "internal/egress", "which proxy the user configured for an address"},
	{"golang.org/x/mod", "internal/daemon/registry internal/manifest internal/registry/client internal/registry/definition internal/registry/scopes internal/registry/server internal/registry/tlog internal/registry/witness", "comparing versions; hashes, proofs and signed notes of the transparency log"},
	{"modernc.org/sqlite", "internal/registry/server/database", "the database of a registry, without a server of its own"},
	{"github.com/jackc/pgx", "internal/registry/server/database", "the same in PostgreSQL"},
	{"golang.org/x/crypto/ssh", "internal/registry/signature", "keys and signatures of SSH"},
	{"github.com/coreos/go-oidc", "internal/registry/builds", "tokens by which builds say what they are"},
	{"golang.org/x/time", "internal/egress internal/registry/httpapi", "how often a client can ask the proxy, or a registry"},
	{"golang.org/x/term", "internal/cli/host internal/cli/prompt", "is a person at the other end, and which keys do they press"},
	{"github.com/google/jsonschema-go", "internal/schema internal/skills/... internal/providers/...", "JSON Schema of tools"},
	{"github.com/modelcontextprotocol/go-sdk", "internal/skills/mcp/...", "the Model Context Protocol"},
	{"golang.org/x/oauth2", "internal/providers/gemini", "credentials of Google Cloud that are exchanged in several steps"},
	{"github.com/aws/aws-sdk-go-v2", "internal/providers/bedrock", "signatures and frames of Amazon Bedrock"},
	{"github.com/moby/moby/api", "internal/runtimes/docker internal/runtimes/docker/api", "the types of the API of Docker daemons"},
	{"github.com/Microsoft/go-winio", "internal/runtimes/docker/api", "the pipe of a Docker daemon on Windows"},
	{"golang.org/x/crypto", "internal/runtimes/docker", "authorities for images, where the system has no list of them"},
	{"github.com/klauspost/compress/zstd", "internal/workspace/snapshot", "compression of stored files"},
	{"github.com/itchyny/gojq", "internal/jq", "expressions that choose events"},
	{"github.com/spf13/cobra", "internal/cli/... internal/daemon/...", "commands"},
	{"github.com/spf13/pflag", "internal/cli/... internal/daemon/...", "flags"},

	{"github.com/google/go-cmp", "", "differences in tests"},
	{"github.com/moby/moby/client", "", "another client for Docker daemons, in tests"},
	{"github.com/chromedp/chromedp", "", "a real browser, in tests"},
	{"github.com/chromedp/cdproto", "", "what that browser can be asked"},
	{"golang.org/x/net/html", "", "what a page consists of, in tests"},
	{"github.com/charmbracelet/x/ansi", "", "control sequences of terminals"},
	{"github.com/charmbracelet/x/vt", "", "a terminal emulator, in tests"},
	{"github.com/charmbracelet/ultraviolet", "", "what its screens consist of"},
	{"github.com/containerd/errdefs", "", "what the errors of that client mean"},
	{"github.com/rogpeppe/go-internal", "", "test scripts"},
	{"pgregory.net/rapid", "", "property tests"},
}

func strayLibraries(t *tree) (found []finding) {
	for _, f := range t.sources(true) {
		for _, i := range f.imports {
			first, _, _ := strings.Cut(i.path, "/")
			if _, ours := ownDir(i.path); ours || !strings.Contains(first, ".") {
				continue // the standard library has no dot in the first part
			}
			known, allowed := false, f.test || matches(forTests, f.dir)
			for _, l := range libraries {
				if matches(l.path+"/...", i.path) {
					known = true
					allowed = allowed || matches(l.users, f.dir)
				}
			}
			switch {
			case !known:
				found = append(found, finding{f.path, i.line, i.path + " is not among the libraries we chose"})
			case !allowed:
				found = append(found, finding{f.path, i.line, fmt.Sprintf("%s must not import %s", f.dir, i.path)})
			}
		}
	}
	return found
}
