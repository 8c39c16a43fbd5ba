package approval

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/userfile"
	"github.com/perstack-go/perstack/job"
)

// An evasion is a command that has the effect which a rule is about, in other words. want is what
// happens to it without a sandbox: deny, if the rule sees it; ask, if the program is known to run
// others; allow, if docs/approvals.md says that it passes.
type evasion struct {
	argv string // words between |
	want job.Verdict
}

// publishing are commands that run the program publish. WS is the workspace, BIN the directory of the
// program, which lies elsewhere.
var publishing = []evasion{
	// The program under its own name, wherever it is found.
	{"publish|now", job.Deny},
	{"BIN/publish|now", job.Deny},
	{"BIN//./publish|now", job.Deny},
	{"BIN/../bin/publish|now", job.Deny},
	{"/proc/self/root/BIN/publish|now", job.Deny},
	{"./publish|now", job.Deny},        // a copy
	{"linked/publish|now", job.Deny},   // a link to the directory
	{"WS/links/publish|now", job.Deny}, // a link to the program
	{"publish", job.Deny},
	{"publish|", job.Deny},
	{"publish|--|now", job.Deny},

	// Another name, in the workspace: a program that the job can have written.
	{"./innocent|now", job.Ask},
	{"links/innocent|now", job.Ask},
	{"./script.sh", job.Ask},
	{"WS/script.sh", job.Ask},

	// Shells.
	{"sh|-c|publish now", job.Ask},
	{"/bin/sh|-c|publish now", job.Ask},
	{"bash|-c|pub''lish now", job.Ask},
	{"bash|-c|p=publish; $p now", job.Ask},
	{"bash|-c|eval \"$(echo cHVibGlzaCBub3cK \\| base64 -d)\"", job.Ask},
	{"bash|-lc|BIN/publish now", job.Ask},
	{"bash|script.sh", job.Ask},
	{"dash|-c|exec publish now", job.Ask},
	{"sh|script.sh", job.Ask},
	{"zsh|-c|publish now", job.Ask},
	{"busybox|sh|-c|publish now", job.Ask},
	{"links/shell|-c|publish now", job.Ask},
	{"./shell-copy|-c|publish now", job.Ask},

	// Programs that only start others.
	{"env|publish|now", job.Ask},
	{"/usr/bin/env|publish|now", job.Ask},
	{"env|-S|publish now", job.Ask},
	{"env|-i|PATH=BIN:/usr/bin:/bin|publish|now", job.Ask},
	{"nice|-n|1|publish|now", job.Ask},
	{"nohup|publish|now", job.Ask},
	{"timeout|5|publish|now", job.Ask},
	{"setsid|--wait|publish|now", job.Ask},
	{"stdbuf|-o0|publish|now", job.Ask},
	{"script|-qec|publish now|/dev/null", job.Ask},
	{"flock|lockfile|publish|now", job.Ask},
	{"ionice|-c|3|publish|now", job.Ask},
	{"time|publish|now", job.Ask},
	{"taskset|1|publish|now", job.Ask},
	{"chrt|--other|0|publish|now", job.Ask},
	{"prlimit|--nofile=100|publish|now", job.Ask},
	{"choom|-n|0|--|publish|now", job.Ask},
	{"setarch|-R|BIN/publish|now", job.Ask},
	{"linux64|BIN/publish|now", job.Ask},
	{"setpriv|BIN/publish|now", job.Ask},
	{"capsh|--|-c|publish now", job.Ask},
	{"start-stop-daemon|--start|--exec|BIN/publish|--|now", job.Ask},
	{"run-parts|parts", job.Ask},
	{"LOADER|/bin/sh|-c|publish now", job.Ask},
	{"watch|-g|-t|-n|1|publish now; date +%N", job.Ask},

	// Programs that run what their arguments or files say.
	{"xargs|-a|words|publish", job.Ask},
	{"xargs|-a|words|-I|{}|publish|{}", job.Ask},
	{"find|words|-exec|publish|{}|;", job.Ask},
	{"find|words|-execdir|BIN/publish|{}|+", job.Ask},
	{"find|words|-ok|publish|{}|;", job.Ask},
	{"make|-s|publish-it", job.Ask},
	{"make|-s|--eval|x:; publish now|x", job.Ask},
	{"awk|BEGIN { system(\"publish now\") }", job.Ask},
	{"mawk|BEGIN { print \\| \"publish now\" }", job.Ask},
	{"sed|-n|1e publish now|words", job.Ask},
	{"perl|-e|system 'publish', 'now'", job.Ask},
	{"perl|program.pl", job.Ask},
	{"python3|-c|import os; os.system('publish now')", job.Ask},
	{"python3|program.py", job.Ask},
	{"node|-e|require('child_process').execFileSync('publish')", job.Ask},
	{"npm|--offline|--silent|exec|-c|publish now", job.Ask},
	{"npm|--offline|--silent|run|publish-it", job.Ask},
	{"tclsh|program.tcl", job.Ask},
	{"vim|-Nu|NONE|-es|-c|!publish now|-c|qa!", job.Ask},
	{"vi|-Nu|NONE|-es|-c|call system('publish now')|-c|qa!", job.Ask},
	{"gdb|-batch|-ex|shell publish now", job.Ask},
	{"strace|-o|/dev/null|BIN/publish|now", job.Ask},
	{"sqlite3|:memory:|.shell publish now", job.Ask},
	{"ed|-s|!publish now", job.Ask},

	// What the docs say passes: other names elsewhere, wrappers that are not known, options that run
	// programs.
	{"BIN/innocent|now", job.Allow},
	{"BIN/wrapper|publish|now", job.Allow},
	{"tar|-cf|archive.tar|--checkpoint=1|--checkpoint-action=exec=publish now|words", job.Allow},
	{"tar|-xf|words.tar|--to-command=publish now", job.Allow},
	{"split|--filter=publish now|words", job.Allow},
	{"sort|-S|1b|--compress-program=publish|many", job.Allow},
	{"zip|-q|-T|-TT|publish now #|archive.zip|words", job.Allow},
	{"git|-c|alias.x=!publish now|x", job.Allow},
	{"git|grep|-Opublish|now", job.Allow},
	{"git|-c|core.editor=publish|commit|--allow-empty|--quiet", job.Allow},
	{"git|difftool|-y|-x|publish now #|HEAD~1", job.Allow},
	{"git|bisect|run|publish", job.Allow},
}

// pushing are commands that push with git, of which a rule says git ** push **.
var pushing = []evasion{
	{"git|push|origin|HEAD:x", job.Deny},
	{"git|push|REMOTE|HEAD:x", job.Deny},
	{"/usr/bin/git|push|origin|HEAD:x", job.Deny},
	{"git|-C|.|push|origin|HEAD:x", job.Deny},
	{"git|-c|a.b=c|push|origin|HEAD:x", job.Deny},
	{"git|--git-dir=.git|push|origin|HEAD:x", job.Deny},
	{"git|--no-pager|-p|push|origin|HEAD:x", job.Deny},
	{"git|--exec-path=GITCORE|push|origin|HEAD:x", job.Deny},
	{"git|push|--force|--no-verify|origin|HEAD:x", job.Deny},
	{"git|push|--|origin|HEAD:x", job.Deny},
	{"git|-c|alias.x=push|x|origin|HEAD:x", job.Allow}, // an alias is another word
	{"git|published|origin|HEAD:x", job.Allow},         // so is one of .git/config
	{"git|send-pack|REMOTE|HEAD:refs/heads/x", job.Allow},
	{"GITCORE/git-push|origin|HEAD:x", job.Allow}, // and another program
	{"git|submodule|--quiet|foreach|git|push|origin|HEAD:x", job.Deny},
	{"git|submodule|--quiet|foreach|git push origin HEAD:x", job.Allow}, // a text for a shell is one word
}

// Every evasion really has the effect: the programs are run, and decided about as a job would.
func TestEvasions(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a hundred programs")
	}
	y := newYard(t)
	rule := func(command ...string) *Policy {
		return &Policy{Approvals: job.Approvals{Sources: []job.Rules{{Origin: job.FromProject, Rules: []job.Rule{{Command: command, Do: job.Deny}}}}}}
	}
	y.try(t, publishing, rule("publish", "**"), filepath.Join(y.bin, "published"))
	y.try(t, pushing, rule("git", "**", "push", "**"), filepath.Join(y.remote, "refs", "heads", "x"))
	if ran := len(publishing) + len(pushing) - len(y.missing); ran < 80 {
		t.Errorf("%d evasions were tried; missing: %q", ran, y.missing)
	}
}

// A yard is a workspace with what the evasions need.
type yard struct {
	ws, bin, remote string
	environ         []string
	words           *strings.Replacer
	missing         []string
}

func newYard(t *testing.T) *yard {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{ws: filepath.Join(top, "ws"), bin: filepath.Join(top, "bin"), remote: filepath.Join(top, "remote.git")}
	y.environ = []string{"PATH=" + y.bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + top, "TERM=dumb", "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=file",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@a.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@a.example"}
	published := filepath.Join(y.bin, "published")
	program := "#!/bin/sh\ntouch " + published + "\nexit 0\n"
	script := "#!/bin/sh\npublish now\n"
	for path, text := range map[string]string{
		"bin/publish": program, "bin/innocent": program, "bin/wrapper": "#!/bin/sh\nexec \"$@\"\n",
		"ws/publish": program, "ws/innocent": program, "ws/script.sh": script, "ws/parts/part": script,
		"ws/words": "now\n", "ws/lockfile": "", "ws/many": strings.Repeat("line\n", 100_000),
		"ws/Makefile": "publish-it:\n\tpublish now\n", "ws/package.json": `{"name":"x","version":"1.0.0","scripts":{"publish-it":"publish now"}}`,
		"ws/program.pl": "system 'publish now';\n", "ws/program.py": "import subprocess\nsubprocess.run(['publish', 'now'])\n", "ws/program.tcl": "exec publish now\n",
	} {
		path = filepath.Join(top, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"linked": y.bin, "links/publish": filepath.Join(y.bin, "publish"), "links/innocent": filepath.Join(y.bin, "publish"), "links/shell": "/bin/sh"} {
		link = filepath.Join(y.ws, link)
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink(to, link)); err != nil {
			t.Fatal(err)
		}
	}
	shell, err := os.ReadFile("/bin/sh")
	if err == nil {
		err = os.WriteFile(filepath.Join(y.ws, "shell-copy"), shell, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	core := strings.TrimSpace(y.must(t, "git", "--exec-path"))
	y.must(t, "git", "init", "-q", "--bare", y.remote)
	y.must(t, "git", "init", "-q")
	y.must(t, "git", "remote", "add", "origin", y.remote)
	y.must(t, "git", "config", "alias.published", "push")
	y.must(t, "tar", "-cf", "words.tar", "words")
	y.must(t, "git", "add", "words")
	y.must(t, "git", "commit", "-qm", "one")
	y.must(t, "git", "add", "words.tar")
	y.must(t, "git", "commit", "-qm", "two")
	// A submodule, whose remote is the same.
	y.must(t, "git", "submodule", "--quiet", "add", "-f", filepath.Join(y.ws, ".git"), "sub")
	y.must(t, "git", "-C", "sub", "remote", "set-url", "origin", y.remote)
	y.must(t, "git", "bisect", "start", "HEAD", "HEAD~1")
	y.words = strings.NewReplacer("BIN", y.bin, "WS", y.ws, "REMOTE", y.remote, "GITCORE", core, "LOADER", loader(t))
	return y
}

// loader is the program that loads others.
func loader(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/lib64/ld-linux*.so*")
	if err != nil || len(found) == 0 {
		return "ld.so"
	}
	return found[0]
}

func (y *yard) must(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := y.run(t.Context(), argv)
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return out
}

func (y *yard) run(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	path, err := y.find(argv[0])
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Dir, cmd.Env, cmd.Stdin = argv, y.ws, y.environ, strings.NewReader("y\n")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// find is how exec finds a program.
func (y *yard) find(name string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(y.ws, name)
		}
		_, err := os.Stat(name)
		return name, err
	}
	for dir := range strings.SplitSeq(strings.TrimPrefix(y.environ[0], "PATH="), ":") {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, name), nil
		}
	}
	return "", fs.ErrNotExist
}

func (y *yard) try(t *testing.T, all []evasion, policy *Policy, effect string) {
	for _, e := range all {
		t.Run(e.argv, func(t *testing.T) {
			argv := strings.Split(strings.ReplaceAll(e.argv, `\|`, "\x00"), "|")
			for i, word := range argv {
				argv[i] = y.words.Replace(strings.ReplaceAll(word, "\x00", "|"))
			}
			path, err := y.find(argv[0])
			if err != nil {
				y.missing = append(y.missing, argv[0])
				testkit.Missing(t, "there is no "+argv[0])
			}
			if err := os.Remove(effect); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			out, err := y.run(t.Context(), argv)
			if _, missing := os.Stat(effect); missing != nil {
				t.Errorf("it has no effect: %v\n%s", err, out)
			}
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				t.Fatal(err)
			}
			_, below := userfile.Below(y.ws, path)
			_, leadsBelow := userfile.Below(y.ws, real)
			q := Request{Tool: execTool, Class: Starts, Accepted: true, Command: argv, InWorkspace: below || leadsBelow}
			if d := policy.Decide(&q); d.Do != e.want {
				t.Errorf("%s by %s, want %s", d.Do, d.By, e.want)
			}
			// In a sandbox, which holds the effects, only what the rule sees is denied.
			want := e.want
			if want == job.Ask {
				want = job.Allow
			}
			q.Sandboxed = true
			if d := policy.Decide(&q); d.Do != want {
				t.Errorf("sandboxed: %s by %s, want %s", d.Do, d.By, want)
			}
		})
	}
}
