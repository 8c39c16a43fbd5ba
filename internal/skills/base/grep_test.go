//go:build unix

package base_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/skills/base"
	"github.com/perstack-go/perstack/internal/workspace"
)

// grepped returns the lines of an answer as grep would print them.
func (b *bench) grepped(args object) string {
	b.t.Helper()
	var lines []string
	for _, raw := range b.mustDo("grep", args)["files"].([]any) {
		file := raw.(object)
		shown, ok := file["lines"].([]any)
		if !ok {
			lines = append(lines, fmt.Sprint(file["path"]))
		}
		for _, raw := range shown {
			line := raw.(object)
			sign := ":"
			if line["context"] == true {
				sign = "-"
			}
			lines = append(lines, fmt.Sprintf("%s%s%v%s%s", file["path"], sign, line["line"], sign, line["text"]))
		}
	}
	return strings.Join(lines, "\n")
}

func TestGrep(t *testing.T) {
	b := newBench(t)
	for name, text := range map[string]string{
		"src/a.go": "package a\n\nfunc One() {}\r\n// one more\nfunc Two() {}", "src/b.txt": "func One", "out/gen.go": "func One", "empty": "",
		".gitignore": "/out/\n", ".git/config": "func One", "src/.env.local": "func One", "bin": "func One\n\x00", "bin2": strings.Repeat("func One\n", 7000) + "\x00",
	} {
		b.put(name, text)
	}
	b.link("../outside", "dir")
	b.link("src/b.txt", "link")
	for _, c := range []struct {
		args object
		want string
	}{
		{object{"pattern": "func One"}, "src/a.go:2:func One() {}\nsrc/b.txt:0:func One"},
		{object{"pattern": "func One", "ignored": true}, "out/gen.go:0:func One\nsrc/a.go:2:func One() {}\nsrc/b.txt:0:func One"},
		{object{"pattern": "one", "ignoreCase": true, "glob": "*.go"}, "src/a.go:2:func One() {}\nsrc/a.go:3:// one more"},
		{object{"pattern": `^func \w+\(\) {}$`, "path": "src"}, "src/a.go:2:func One() {}\nsrc/a.go:4:func Two() {}"},
		{object{"pattern": "One|Two", "path": "src/a.go", "context": 1}, "src/a.go-1-\nsrc/a.go:2:func One() {}\nsrc/a.go-3-// one more\nsrc/a.go:4:func Two() {}"},
		{object{"pattern": "more", "context": 2, "glob": "a.go"}, "src/a.go-1-\nsrc/a.go-2-func One() {}\nsrc/a.go:3:// one more\nsrc/a.go-4-func Two() {}"},
		{object{"pattern": "One", "filesOnly": true, "context": 3}, "src/a.go\nsrc/b.txt"},
		{object{"pattern": "One", "path": "out/gen.go", "glob": "*.md"}, "out/gen.go:0:func One"},
		{object{"pattern": "One", "path": "link"}, "src/b.txt:0:func One"},
		{object{"pattern": "^$", "path": "src"}, "src/a.go:1:"},
		{object{"pattern": canary, "ignored": true}, ""},
		{object{"pattern": "alpha"}, "a.txt:0:alpha"},
	} {
		if got := b.grepped(c.args); got != c.want {
			t.Errorf("%v finds\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	if got := b.mustDo("grep", object{"pattern": "One"})["skipped"]; fmt.Sprint(got) != "map[binary:2]" {
		t.Errorf("skipped %v", got)
	}
	b.mustFail("grep", object{"pattern": "One", "path": ".git/config"}, "protected")
	b.mustFail("grep", object{"pattern": "One", "path": "src/.env.local"}, "protected")
	b.mustFail("grep", object{"pattern": "One", "path": "none"}, "not_found")
	for _, bad := range []string{"[a", "(?=a)", `\1`, strings.Repeat("a", 1001), "(a{1000}){2}", strings.Repeat("a{900}", 3)} {
		b.mustFail("grep", object{"pattern": bad}, "invalid_arguments")
	}
	b.mustFail("grep", object{"pattern": "a", "glob": "[a"}, "invalid_arguments")
}

// What a result says when it was cut, and of files that were not searched.
func TestGrepLimits(t *testing.T) {
	b := newBench(t)
	b.put("many", strings.Repeat("match\n", 200))
	b.put("wide", strings.Repeat(strings.Repeat("x", 499)+"\n", 300))
	b.put("long", strings.Repeat("a", 3000)+"needle"+strings.Repeat("b", 3000)+"\n"+strings.Repeat("c", 70<<10)+"needle\nneedle")
	if err := os.Truncate(filepath.Join(b.dir, "many"), 6*200); err != nil {
		t.Fatal(err)
	}
	b.put("large", "")
	if err := os.Truncate(filepath.Join(b.dir, "large"), 16<<20+1); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args    object
		matches float64
		reason  string
	}{
		{object{"pattern": "match"}, 100, "the limit of 100 is reached"},
		{object{"pattern": "match", "limit": 200}, 200, ""},
		{object{"pattern": "match", "filesOnly": true}, 1, ""},
		{object{"pattern": "x", "limit": 1000}, 127, "longer than 65536 bytes"},
	} {
		got := b.mustDo("grep", c.args)
		reason, _ := got["reason"].(string)
		if got["matches"] != c.matches || !strings.Contains(reason, c.reason) || (got["truncated"] == true) != (c.reason != "") {
			t.Errorf("%v: %v matches, %v, %q", c.args, got["matches"], got["truncated"], reason)
		}
	}
	got := strings.Split(b.grepped(object{"pattern": "needle", "path": "long"}), "\n")
	if len(got) != 2 || !strings.Contains(got[0], "needle") || len(got[0]) > 550 || !strings.HasPrefix(got[0], "long:0:…a") || !strings.HasSuffix(got[0], "b…") || got[1] != "long:2:needle" {
		t.Errorf("found %q", got)
	}
	b.mustFail("grep", object{"pattern": "a", "path": "large"}, "too_large")
	if got := b.mustDo("grep", object{"pattern": "a", "glob": "large"})["skipped"]; fmt.Sprint(got) != "map[large:1]" {
		t.Errorf("skipped %v", got)
	}
}

// Pipes, links and protected files are neither opened nor counted.
func TestGrepHostile(t *testing.T) {
	b := hostileBench(t)
	if err := syscall.Mkfifo(filepath.Join(b.dir, "sub/pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	done := make(chan string, 1)
	go func() {
		text, _ := b.call("grep", object{"pattern": "CANARY|root:|.", "ignored": true, "limit": 1000})
		done <- text
	}()
	select {
	case text := <-done:
		if want := `{"files":[{"path":"a.txt","lines":[{"line":0,"text":"alpha"},{"line":1,"text":"beta"}]},{"path":"sub/deep/file.txt","lines":[{"line":0,"text":"CAN"}]}],"matches":3}`; text != want {
			t.Errorf("found %s", text)
		}
	case <-time.After(time.Minute):
		t.Fatal("the search waits for a pipe")
	}
}

// A search that is stopped in the middle has no result.
func TestGrepInterrupted(t *testing.T) {
	b := newBench(t)
	files, err := workspace.Open(b.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	ctx, cancel := context.WithCancel(t.Context())
	s := base.New(base.Options{Workspace: files, Redact: func(text string) string { cancel(); return text }})
	if text, r := callWith(ctx, t, s, "grep", object{"pattern": "beta"}); !r.IsError || fields(t, text)["code"] != "interrupted" {
		t.Error(text)
	}
}

// Secrets are taken out before a line is cut.
func TestGrepRedacts(t *testing.T) {
	b := newBench(t)
	const secret = "0123456789abcdef0123456789abcdef"
	b.put("x", strings.Repeat("a", 480)+secret+" needle "+strings.Repeat("b", 600))
	b.put("y", "needle"+strings.Repeat("c", 64<<10-16)+secret)
	files, err := workspace.Open(b.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	s := base.New(base.Options{Workspace: files, Redact: func(text string) string { return strings.ReplaceAll(text, secret, "[secret]") }})
	for _, pattern := range []string{"needle", "a+0123", "c+"} {
		text, _ := callWith(t.Context(), t, s, "grep", object{"pattern": pattern})
		if !strings.Contains(text, `"matches":`) || strings.Contains(text, secret[:8]) {
			t.Errorf("%s: %s", pattern, text)
		}
	}
}

// A search says nothing about a secret: whatever is guessed, the answer is the same.
func TestGrepIsNoOracle(t *testing.T) {
	const secret, letters = "sk-cabbacab", "abc"
	b := newBench(t)
	b.put("x", "key="+secret+" end\n")
	b.put("long", strings.Repeat("x", 60<<10-6)+secret+strings.Repeat("y", 8<<10)+"\n")
	files, err := workspace.Open(b.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	s := base.New(base.Options{Workspace: files, Redact: func(text string) string { return strings.ReplaceAll(text, secret, "[redacted: KEY]") }})
	for _, form := range []string{"%s%s", "key=%s%s", "%s%s|redacted", "%s%s|end", "%s[^%s]", "^key=([^s]|%s%s)", "x%s%s"} {
		for known := len("sk-"); known < len(secret); known++ {
			for _, filesOnly := range []bool{false, true} {
				answers := make(map[string]string)
				for _, guess := range letters {
					pattern := fmt.Sprintf(form, secret[:known], string(guess))
					text, _ := callWith(t.Context(), t, s, "grep", object{"pattern": pattern, "filesOnly": filesOnly})
					answers[text] = pattern
				}
				if len(answers) != 1 {
					t.Fatalf("the answers tell what is right: %v", answers)
				}
			}
		}
	}
	// What is shown is found.
	for _, pattern := range []string{"key=", `=\[redacted: KEY\] end$`} {
		text, _ := callWith(t.Context(), t, s, "grep", object{"pattern": pattern})
		if !strings.Contains(text, `"text":"key=[redacted: KEY] end"`) {
			t.Errorf("%s: %s", pattern, text)
		}
	}
}
