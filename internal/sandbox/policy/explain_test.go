package policy

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perstack-go/perstack/expert"
)

// example is a policy like that of a run.
func example() *Policy {
	return &Policy{
		Level: expert.SandboxFull, Workspace: Workspace{Path: "/home/ann/project"}, Home: "/home/ann",
		Read: []string{"/home/ann/.cargo/bin", "/srv/data"}, Write: []string{"/srv/out", "/home/ann/top/.git"},
		Caches: []Cache{{Path: "/home/ann/.cache/go-build", Upper: "/state/u", Work: "/state/w"}},
		Files:  map[string]string{"/home/ann/.gitconfig": ""},
		Hidden: []string{".env", "keys", "sub/.env.local"},
		Frozen: []string{".git/config", ".git/hooks", "perstack.lock", "perstack.toml", "tools", "/home/ann/top/.git/config"},
		Pinned: []string{".git", "sub/pinned"},
	}
}

func TestExplain(t *testing.T) {
	type hint = Hint
	for name, test := range map[string]struct {
		stderr string
		want   []hint
	}{
		"nothing":   {"all is well\n/home/ann/x is a fine path\n", nil},
		"python":    {"FileNotFoundError: [Errno 2] No such file or directory: '/home/ann/datasets/a.csv'\n", []hint{{Kind: HintOutside, Path: "/home/ann/datasets/a.csv"}}},
		"can't":     {"python3: can't open file '/home/ann/my files/x.py': [Errno 2] No such file or directory\n", []hint{{Kind: HintOutside, Path: "/home/ann/my files/x.py"}}},
		"cat":       {"cat: /var/log/syslog: Permission denied\n", []hint{{Kind: HintOutside, Path: "/var/log/syslog"}}},
		"ls":        {"ls: cannot access '/mnt/a b': No such file or directory\n", []hint{{Kind: HintOutside, Path: "/mnt/a b"}}},
		"go":        {"open /mnt/x: permission denied\n", []hint{{Kind: HintOutside, Path: "/mnt/x"}}},
		"node":      {"Error: ENOENT: no such file or directory, open '/mnt/x'\n", []hint{{Kind: HintOutside, Path: "/mnt/x"}}},
		"npm":       {"npm error code EACCES\nnpm error syscall mkdir\nnpm error path /mnt/lib/x\nnpm error errno -13\n", []hint{{Kind: HintOutside, Path: "/mnt/lib/x"}}},
		"colours":   {"\x1b[31mopen /mnt/\x1b[1mx\x1b[0m: permission denied\x1b[K\n", []hint{{Kind: HintOutside, Path: "/mnt/x"}}},
		"a tilde":   {"bash: ~/datasets/x: No such file or directory\n", []hint{{Kind: HintOutside, Path: "/home/ann/datasets/x"}}},
		"marks":     {"rm: cannot remove \u2018/mnt/x\u2019: Read-only file system\n", []hint{{Kind: HintOutside, Path: "/mnt/x"}}},
		"dots":      {"cat: /home/ann/project/../other/x: No such file or directory\n", []hint{{Kind: HintOutside, Path: "/home/ann/other/x"}}},
		"twice":     {"cat: /mnt/x: Permission denied\ncat: /mnt/x: Permission denied\n", []hint{{Kind: HintOutside, Path: "/mnt/x"}}},
		"at most":   {strings.Repeat("cat: /mnt/a: Permission denied\n", 2) + "a /m/1 EACCES\na /m/2 EACCES\na /m/3 EACCES\na /m/4 EACCES\na /m/5 EACCES\n", []hint{{Kind: HintOutside, Path: "/mnt/a"}, {Kind: HintOutside, Path: "/m/1"}, {Kind: HintOutside, Path: "/m/2"}, {Kind: HintOutside, Path: "/m/3"}, {Kind: HintOutside, Path: "/m/4"}}},
		"addresses": {"GET https://example.com/x: permission denied\nfile:///mnt/x: EACCES\n", nil},

		"shown": {
			"cat: /home/ann/project/none: No such file or directory\ncat: none.txt: No such file\n/usr/bin/x: Permission denied\n/srv/data/none: No such file\n" +
				"/srv/out/x: Permission denied\n/tmp/x: EACCES\n/dev/null: EACCES\n/home/ann/.cache/go-build/x: EACCES\n/home: EACCES\n/: EACCES\n/home/ann: EACCES\n/home/ann/.gitconfig: EACCES\n", nil,
		},
		"made by the program in its home": {"/home/ann/own: Permission denied\n", nil},

		"hidden":                    {"cat: .env: Permission denied\n", []hint{{Kind: HintHidden, Path: ".env"}}},
		"hidden, from below":        {"cat: ../.env: Permission denied\ncat: .env.local: Permission denied\n", []hint{{Kind: HintHidden, Path: ".env"}, {Kind: HintHidden, Path: "sub/.env.local"}}},
		"hidden, absolute":          {"open /home/ann/project/sub/.env.local: permission denied\n", []hint{{Kind: HintHidden, Path: "sub/.env.local"}}},
		"in a hidden directory":     {"open /home/ann/project/keys/a.pem: no such file or directory\n", []hint{{Kind: HintHidden, Path: "keys/a.pem"}}},
		"another env file":          {"cat: .env.none: No such file or directory\ncat: other/x.env: Permission denied\n", nil},
		"frozen":                    {"bash: perstack.toml: Read-only file system\n", []hint{{Kind: HintReadOnly, Path: "perstack.toml"}}},
		"frozen, its name is .lock": {"rm: cannot remove 'perstack.lock': Device or resource busy\n", []hint{{Kind: HintReadOnly, Path: "perstack.lock"}}},
		"frozen, read by its mode":  {"cat: perstack.toml: Permission denied\n", nil},
		"in a frozen directory":     {"touch: cannot touch '/home/ann/project/tools/new': Read-only file system\n", []hint{{Kind: HintReadOnly, Path: "tools/new"}}},
		"pinned":                    {"mv: cannot move '.git' to 'x': Device or resource busy\n", []hint{{Kind: HintReadOnly, Path: ".git"}}},
		"in a pinned directory":     {"rm: cannot remove '.git/index': Permission denied\n/home/ann/project/.git/index.lock: Read-only file system\n", nil},
		"git config":                {"error: could not write config file .git/config: Device or resource busy\n", []hint{{Kind: HintGitConfig, Path: ".git/config"}}},
		"git config, absolute":      {"error: could not lock config file /home/ann/top/.git/config.lock: Device or resource busy\n", []hint{{Kind: HintGitConfig, Path: "/home/ann/top/.git/config"}}},
		"a hook":                    {"cp: cannot create regular file '.git/hooks/pre-commit': Read-only file system\n", []hint{{Kind: HintGitConfig, Path: ".git/hooks"}}},
		"a readable path":           {"touch: cannot touch '/srv/data/x': Read-only file system\n", []hint{{Kind: HintReadOnly, Path: "/srv/data/x"}}},

		"curl":           {"curl: (6) Could not resolve host: registry.example.com\n", []hint{{Kind: HintNetwork, Host: "registry.example.com"}}},
		"git":            {"fatal: unable to access 'https://ann.x:secret.y@github.com/a/b.git/': Could not resolve host: github.com\n", []hint{{Kind: HintNetwork, Host: "github.com"}}},
		"npm network":    {"npm error request to https://registry.example.net/x failed, reason: getaddrinfo EAI_AGAIN registry.example.net\n", []hint{{Kind: HintNetwork, Host: "registry.example.net"}}},
		"node address":   {"Error: connect ENETUNREACH 93.184.216.34:443 - Local (0.0.0.0:0)\n", []hint{{Kind: HintNetwork, Host: "93.184.216.34"}}},
		"go network":     {"dial tcp: lookup modules.example.com on 127.0.0.53:53: no such host\n", []hint{{Kind: HintNetwork, Host: "modules.example.com"}}},
		"pip":            {"HTTPSConnectionPool(host='packages.example.com', port=443): [Errno -3] Temporary failure in name resolution\n", []hint{{Kind: HintNetwork, Host: "packages.example.com"}}},
		"ssh":            {"ssh: Could not resolve hostname git.example.com: Name or service not known\n", []hint{{Kind: HintNetwork, Host: "git.example.com"}}},
		"curl, refused":  {"curl: (56) CONNECT tunnel failed, response 403\n", []hint{{Kind: HintNetwork, ByProxy: true}}},
		"pip, refused":   {"HTTPSConnectionPool(host='packages.example.com', port=443): Cannot connect to proxy: OSError('Tunnel connection failed: 403 Forbidden')\n", []hint{{Kind: HintNetwork, Host: "packages.example.com", ByProxy: true}}},
		"without a host": {"main.py: Network is unreachable\n", []hint{{Kind: HintNetwork}}},
		"local":          {"getaddrinfo ENOTFOUND localhost\nconnect to 127.0.0.1: Network is unreachable\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Explain(test.stderr, example(), "/usr/bin/tool -x")
			if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(Hint{}, "Message", "Command")); diff != "" {
				t.Error(diff)
			}
			for _, h := range got {
				if h.Command != "tool" || h.Message == "" || h.Kind == HintOutside && h.Message != h.Path+" is outside the sandbox" {
					t.Errorf("got %+v", h)
				}
			}
		})
	}
}

func TestExplainOtherPolicies(t *testing.T) {
	only := func(stderr string, change func(*Policy)) string {
		p := example()
		change(p)
		var all []string
		for _, h := range Explain(stderr, p, "x") {
			all = append(all, string(h.Kind)+" "+h.Path+h.Host)
		}
		return strings.Join(all, ", ")
	}
	for _, test := range []struct {
		stderr string
		change func(*Policy)
		want   string
	}{
		{"a.example.com: Network is unreachable\n", func(p *Policy) { p.HostNetwork = true }, ""},
		{"/home/ann/project/x: Read-only file system\n", func(p *Policy) { p.Workspace.Right = expert.WorkspaceRead }, "readonly x"},
		{"/home/ann/project/x: No such file\n", func(p *Policy) { p.Workspace.Right = expert.WorkspaceNone }, "outside /home/ann/project/x"},
		{"/home/ann/x: Permission denied\n.env: Permission denied\n", func(p *Policy) { p.Level = expert.SandboxLandlock }, "outside /home/ann/x"},
		{"/tmp/x: Permission denied\n", func(p *Policy) { p.Level = expert.SandboxLandlock }, "outside /tmp/x"},
	} {
		if got := only(test.stderr, test.change); got != test.want {
			t.Errorf("%q: got %q, want %q", test.stderr, got, test.want)
		}
	}
}

// What is in the middle of a very long text is not looked at; its ends are.
func TestExplainIsBounded(t *testing.T) {
	filler := strings.Repeat("x", explainPart) + "\n"
	got := Explain("/m/a: EACCES\n"+filler+"/m/b: EACCES\n"+filler+"/m/c: EACCES\n", example(), "")
	if len(got) != 2 || got[0].Path != "/m/a" || got[1].Path != "/m/c" {
		t.Errorf("got %+v", got)
	}
	Explain(strings.Repeat("EACCES ' \" ` : /home/ann/project/a\u2018b\n", 1<<17), example(), strings.Repeat("x", 1<<20))
	Explain("EACCES "+strings.Repeat("/usr/a:", 1<<20), example(), "")
}

func FuzzExplain(f *testing.F) {
	for _, seed := range []string{
		"cat: .env: Permission denied", "open '/mnt/a b': EACCES\x1b[0m", "error: could not write config file .git/config: Device or resource busy",
		"curl: (6) Could not resolve host: x.example.com", "EROFS /home/ann/project/../../x", "npm error code EACCES\nnpm error path /x", "ENETUNREACH [::1]:80 \u202e", "EBUSY /home/ann/project/tools/../x",
	} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, stderr string, full bool) {
		p := example()
		if !full {
			p.Level = expert.SandboxLandlock
		}
		hints := Explain(stderr, p, stderr)
		if len(hints) > maxHints {
			t.Fatalf("%d hints", len(hints))
		}
		for _, h := range hints {
			for _, text := range []string{h.Message, h.Path, h.Host, h.Command} {
				if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || len(text) > 2*maxPathBytes && text != h.Command {
					t.Fatalf("the text %q of %+v", text, h)
				}
			}
			if (h.Kind == HintNetwork) != (h.Path == "") || h.Kind != HintNetwork && h.Host != "" {
				t.Fatalf("got %+v", h)
			}
			if h.Path != "" && writable(p, h) {
				t.Fatalf("%+v can be written to", h)
			}
		}
	})
}

// writable says by other means than Explain whether a path of a hint is one that programs can use
// as they like.
func writable(p *Policy, h Hint) bool {
	path := h.Path
	if !filepath.IsAbs(path) {
		path = p.Workspace.Path + "/" + path
	}
	below := func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
	if p.Level == expert.SandboxFull {
		for _, name := range append(p.Hidden, p.Frozen...) {
			if below(name) || below(p.Workspace.Path+"/"+name) {
				return false
			}
		}
		for _, name := range p.Pinned {
			if path == p.Workspace.Path+"/"+name {
				return false
			}
		}
	}
	for _, dir := range append([]string{p.Workspace.Path, "/dev", p.Caches[0].Path}, p.Write...) {
		if below(dir) {
			return true
		}
	}
	return p.Level == expert.SandboxFull && below("/tmp")
}
