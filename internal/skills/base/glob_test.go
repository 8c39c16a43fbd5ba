package base_test

import (
	"fmt"
	"strings"
	"testing"
)

// globbed returns the paths of an answer, joined.
func (b *bench) globbed(args object) string {
	b.t.Helper()
	var paths []string
	for _, path := range b.mustDo("glob", args)["files"].([]any) {
		paths = append(paths, path.(string))
	}
	return strings.Join(paths, " ")
}

func TestGlob(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"src/b.go", "src/deep/c.go", "src/deep/c_test.go", "docs/d.md", "out/gen.go", ".hidden/e.go", "src/.env.local", "z.go", ".git/x.go"} {
		b.put(name, "")
	}
	b.put(".gitignore", "/out/\n*_test.go\n")
	b.put(".env.example", "")
	b.link("src", "link")
	for _, c := range []struct {
		args object
		want string
	}{
		{object{"pattern": "*.go"}, ".hidden/e.go src/b.go src/deep/c.go z.go"},
		{object{"pattern": "/*.go"}, "z.go"},
		{object{"pattern": "**/*.go", "ignored": true}, ".hidden/e.go out/gen.go src/b.go src/deep/c.go src/deep/c_test.go z.go"},
		{object{"pattern": "src/**/*.{go,md}"}, "src/b.go src/deep/c.go"},
		{object{"pattern": "*", "path": "src/deep", "ignored": true}, "src/deep/c.go src/deep/c_test.go"},
		{object{"pattern": "deep/*.go", "path": "src"}, "src/deep/c.go"},
		{object{"pattern": "*", "path": "out"}, "out/gen.go"},
		{object{"pattern": "*", "path": "link"}, "src/b.go src/deep/c.go"},
		{object{"pattern": "**/"}, ".hidden/ docs/ src/ src/deep/"},
		{object{"pattern": ".env*", "ignored": true}, ".env.example"},
		{object{"pattern": "journal*", "ignored": true}, ""},
		{object{"pattern": "**/.git/**", "ignored": true}, ""},
		{object{"pattern": "link"}, "link"},
		{object{"pattern": "none.*"}, ""},
	} {
		if got := b.globbed(c.args); got != c.want {
			t.Errorf("%v finds %q, want %q", c.args, got, c.want)
		}
	}
	for _, bad := range []string{"[a", "*.{go,md", "../*.go"} {
		b.mustFail("glob", object{"pattern": bad}, "invalid_arguments")
	}
	b.mustFail("glob", object{"pattern": "*", "path": "z.go"}, "not_a_directory")
	b.mustFail("glob", object{"pattern": "*", "path": ".git"}, "protected")
}

// A result says when it was cut, and why.
func TestGlobLimits(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("x", 200)
	for i := range 600 {
		b.put(fmt.Sprintf("many/%s%03d", long, i), "")
	}
	for i := range 502 {
		b.put(fmt.Sprintf("few/%03d", i), "")
	}
	for _, c := range []struct {
		args   object
		count  int
		reason string
	}{
		{object{"pattern": "*", "path": "few", "limit": 2}, 2, "the limit of 2 is reached"},
		{object{"pattern": "*", "path": "few"}, 500, "the limit of 500 is reached"},
		{object{"pattern": "*", "path": "few", "limit": 502}, 502, ""},
		{object{"pattern": "*", "path": "many", "limit": 1000}, (64 << 10) / len("many/"+long+"000"), "longer than 65536 bytes"},
	} {
		got := b.mustDo("glob", c.args)
		reason, _ := got["reason"].(string)
		if n := len(got["files"].([]any)); n != c.count || !strings.Contains(reason, c.reason) || (got["truncated"] == true) != (c.reason != "") {
			t.Errorf("%v: %d files, %v, %q", c.args, n, got["truncated"], reason)
		}
	}
}
