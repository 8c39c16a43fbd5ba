package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pythonServer is a small MCP server whose script is in the workspace.
const pythonServer = `import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif m.get("method") == "tools/list":
        r = {"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}
    else:
        r = {"content": [{"type": "text", "text": "hello"}]}
    if "id" in m:
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

// What a program at level full tries against its own job has no effect: it does not change the
// history, the program of a skill, perstack.toml or an env file, and the next run does not use what
// it made. The same program without a sandbox does all of it.
func TestFullAttacks(t *testing.T) {
	for _, level := range []string{"full", "off"} {
		t.Run(level, func(t *testing.T) { fullAttacks(t, level) })
	}
}

func fullAttacks(t *testing.T, level string) {
	p := newFullProject(t, level, "python3")
	write(t, filepath.Join(p.dir, "tools/server.py"), pythonServer)
	write(t, filepath.Join(p.dir, "conf/real"), "SECRET=from-the-user")
	if err := os.Symlink("conf/real", filepath.Join(p.dir, ".env")); err != nil {
		t.Fatal(err)
	}
	const skill = "[experts.user.skills.files]\ntype = \"mcpStdioSkill\"\ncommand = \"python3\"\nargs = [\"tools/server.py\"]\n"
	o := p.run(t, skill,
		toolCall{"hello", "hello", `{}`},
		sh("skill", `echo '# cha''nged' >>tools/server.py; cp tools/server.py x; mv x tools/server.py; mv tools old; mkdir tools; cp old/server.py tools`),
		sh("fifo", `rm -f perstack.toml; mkfifo perstack.toml`),
		sh("read", `cat .env conf/real`),
		sh("link", `echo X=evil >evil; ln -sfn evil .env; echo X=evil >conf/real`),
		sh("chmod", `echo X=evil >.env.local; mkdir later; echo x >later/perstack.toml; chmod 0555 .`),
	)
	t.Cleanup(func() { _ = os.Chmod(p.dir, 0o755) })
	o.expect(t, "hello", false, "hello")

	all := func(name string) string {
		text, err := os.ReadFile(filepath.Join(p.dir, name))
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	link, err := os.Readlink(filepath.Join(p.dir, ".env"))
	if err != nil {
		t.Error(err)
	}
	toml, err := os.Lstat(filepath.Join(p.dir, "perstack.toml"))
	if err != nil {
		t.Fatal(err)
	}
	read := o.printed(t, "read")
	for attack, worked := range map[string]bool{
		"a skill was changed":            all("tools/server.py") != pythonServer,
		"perstack.toml was replaced":     !toml.Mode().IsRegular(),
		"an env file was read":           strings.Contains(read.Output+read.Stdout, "from-the-user"),
		"the link .env was changed":      link != "conf/real",
		"the target of .env was changed": all("conf/real") != "SECRET=from-the-user",
	} {
		if worked != (level == "off") {
			t.Errorf("%s: %t", attack, worked)
		}
	}
	if info, err := os.Stat(p.dir); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("the workspace is %v, %v", info.Mode(), err)
	}

	// The next start does not hang, and does not use what appeared.
	_, stderr, code := p.perstack(t, append([]string{"run", "user", "go"}, p.flags...)...)
	marked := "perstack.toml: not a regular file"
	if level == "full" {
		marked = ".env.local did not exist before job"
	}
	if code != 2 || !strings.Contains(stderr, marked) {
		t.Errorf("the next run: exit code %d, no %q in %s", code, marked, stderr)
	}
}

// A program at level full does not find the history of its job. Without a sandbox it can extend it,
// which ends the job.
func TestFullHistory(t *testing.T) {
	for level, want := range map[string]struct {
		code   int
		stderr string
	}{"full": {0, ""}, "off": {1, "was extended by another program"}} {
		p := newFullProject(t, level)
		write(t, filepath.Join(p.dir, "cassette.toml"), fmt.Sprintf("[[turn]]\n[[turn.call]]\ntool = \"exec\"\nargsText = '%s'\n[[turn]]\ntext = \"Done.\"\n",
			sh("", "for f in $(find "+p.state()+" -name journal.jsonl); do echo forged >>$f; done; ls "+p.state()).args))
		write(t, filepath.Join(p.dir, "perstack.toml"), slow["perstack.toml"])
		stdout, stderr, code := p.perstack(t, "run", "writer", "go", "--sandbox="+level)
		if code != want.code || !strings.Contains(stderr, want.stderr) {
			t.Errorf("%s: exit code %d, %s", level, code, stderr)
		}
		if level == "full" && !strings.Contains(stdout, "No such file or directory") {
			t.Errorf("the state directory can be seen: %s", stdout)
		}
	}
}
