package rules

import (
	"fmt"
	"go/ast"
	"strings"
)

// A reservation gives packages, or names of packages, to some packages of ours. Tests and the
// packages made for them are exempt: they play the other side.
type reservation struct {
	what  string // patterns of import paths, or names such as os.Getenv
	only  string // the packages that may; when empty, all but those of never
	never string
	why   string
}

var importReservations = []reservation{
	{
		what: "net net/http/... net/rpc/... net/smtp crypto/tls",
		// What can dial in golang.org/x/net is not among the libraries.
		// The socket between perstack and its supervisor is a net.UnixConn.
		// A sandbox has a listener, which internal/skills hands from the process that holds the
		// sandbox to the proxy.
		// An audit attacks the proxy with a network of its own; the program that it starts tries to
		// reach its listener.
		// The process that runs a job takes answers of the user on a socket.
		// The clients of registries, of container registries and of issuers of tokens make requests with an http.Client that is handed in. They do not dial.
		// The server of a registry listens, and dials nothing.
		// Keys of SSH are used by the agent of the user, over its socket.
		only: "internal/egress internal/sandbox internal/sandbox/space internal/skills internal/skills/base internal/sandbox/selftest internal/sandbox/hostile internal/audit/probes internal/providers/... internal/skills/mcp/... internal/runtimes/... internal/cli/answers internal/registry/client internal/registry/oci internal/registry/builds internal/registry/httpapi internal/registry/signature internal/registry/web internal/registry/witness internal/daemon/registry internal/daemon/witness",
		why:  "this package has nothing to do with the network",
	},
	{
		what:  "os io/ioutil syscall golang.org/x/sys/...",
		never: "event model skill internal/skills/base internal/skills/mcp/... internal/skills/delegate internal/skills/interactive internal/skills/quota store engine",
		why:   "this package knows no file system; only internal/workspace opens paths that a model or a skill chose",
	},
	{
		what: "encoding/json",
		only: "internal/runtimes/docker/api", // the types of Docker's API are made for it
		why:  "it ignores letter case and lets the last of two equal names win; github.com/go-json-experiment/json is strict",
	},
	{
		what:  "log math/rand io/ioutil",
		never: "...",
		why:   "use log/slog handed in, crypto/rand or math/rand/v2, io and os",
	},
	{
		what:  "C plugin",
		never: "...",
		why:   "perstack is one static file",
	},
}

var nameReservations = []reservation{
	{
		what: "net.Dial net.DialTimeout net.DialTCP net.DialUDP net.DialIP net.DialUnix net.Dialer tls.Dial tls.DialWithDialer tls.Dialer " +
			"net.LookupHost net.LookupIP net.LookupAddr net.LookupTXT net.DefaultResolver net.Resolver " +
			"http.Get http.Head http.Post http.PostForm http.DefaultClient http.DefaultTransport http.Transport http.Client{}",
		only: "internal/egress internal/sandbox/selftest internal/sandbox/hostile internal/audit/probes internal/providers/... internal/runtimes/docker/api internal/cli/answers internal/registry/signature", // self-tests try what must fail
		why:  "only internal/egress and internal/providers dial out, and internal/runtimes/docker/api, internal/cli/answers and internal/registry/signature to a local socket; a client is handed in",
	},
	{
		what:  "filepath.Walk filepath.WalkDir filepath.Glob filepath.EvalSymlinks filepath.Abs",
		never: "event model skill internal/skills/base internal/skills/mcp/... internal/skills/delegate internal/skills/interactive internal/skills/quota store engine",
		why:   "it reads the file system behind the back of internal/workspace",
	},
	{
		what: "os.Getenv os.LookupEnv os.Environ os.ExpandEnv os.Setenv os.Unsetenv os.Clearenv syscall.Getenv syscall.Environ",
		// . for programs that hand in no environment. In a container there is no host.Host, and
		// internal/process removes what both have read.
		// The hostile program of an audit reports what it got.
		only: "internal/cli/host internal/process internal/runtimes/docker/inside internal/sandbox/hostile .",
		why:  "only internal/cli/host reads the environment of the process, so that a secret has one way in",
	},
	{
		// A supervisor and the program in a container are told by their arguments what they are,
		// and end without going back to main. A second signal ends the process at once.
		what: "os.Args os.Exit",
		only: "cmd/... internal/process internal/runtimes/docker/inside internal/sandbox internal/sandbox/hostile",
		why:  "the process belongs to main; arguments are handed in, and an error is handed back",
	},
	{
		what: "os.Stdin os.Stdout os.Stderr os.Getwd os.Chdir fmt.Print fmt.Printf fmt.Println slog.Default",
		only: "cmd/... internal/cli/host internal/runtimes/docker/inside internal/sandbox/hostile", // which are main in a container and in an audit
		why:  "the process belongs to main; streams, directory and logger are handed in",
	},
	{
		// A query may come from a pipe, which internal/cli/run waits for. internal/lockfile writes,
		// internal/owner and internal/sandbox read what the kernel says.
		what: "os.ReadFile os.Open os.OpenFile os.DirFS",
		only: "internal/userfile internal/workspace internal/sandbox/... internal/owner internal/lockfile internal/runtimes/docker/inside internal/cli/answers internal/cli/run store/file",
		why:  "a program can put a pipe, a device or a file without end in its place; internal/userfile reads regular files, bounded in size and time",
	},
	{
		what: "context.Background context.TODO",
		only: "cmd/... internal/runtimes/docker/inside internal/sandbox/hostile", // which are main in a container and in an audit
		why:  "a context that cannot be cancelled outlives its run; take it from the caller",
	},
}

func (r reservation) broken(dir string) bool {
	if r.only != "" {
		return !matches(r.only, dir)
	}
	return matches(r.never, dir)
}

func reservedImports(t *tree) (found []finding) {
	for _, f := range t.program() {
		for _, i := range f.imports {
			for _, r := range importReservations {
				if matches(r.what, i.path) && r.broken(f.dir) {
					found = append(found, finding{f.path, i.line, fmt.Sprintf("%s imports %s: %s", f.dir, i.path, r.why)})
				}
			}
		}
	}
	return found
}

func reservedNames(t *tree) (found []finding) {
	for _, f := range t.program() {
		for _, r := range nameReservations {
			if !r.broken(f.dir) {
				continue
			}
			for _, use := range f.uses(f.syntax, r.what) {
				found = append(found, f.at(use, "%s: %s", f.text(use), r.why))
			}
		}
	}
	return found
}

// uses finds the places below a node that say package.Name, whatever the file calls the
// package.
// A name that ends in {} means values written out: http.Client{}, not *http.Client.
func (f *source) uses(in ast.Node, names string) (found []*ast.SelectorExpr) {
	wanted := strings.Fields(names)
	literal := map[ast.Expr]bool{}
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			literal[n.Type] = true
		case *ast.SelectorExpr:
			name := f.text(n)
			for _, w := range wanted {
				bare, onlyLiteral := strings.CutSuffix(w, "{}")
				if name == bare && (!onlyLiteral || literal[n]) {
					found = append(found, n)
				}
			}
		}
		return true
	})
	return found
}

// text returns package.Name for a selector on an imported package, else "".
func (f *source) text(n *ast.SelectorExpr) string {
	x, ok := n.X.(*ast.Ident)
	if !ok || x.Obj != nil { // a variable that has the name of a package
		return ""
	}
	for _, i := range f.imports {
		if i.name == x.Name {
			return importName(i.path) + "." + n.Sel.Name
		}
	}
	return ""
}
