package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
)

// ignoreCases are rules, and paths with what becomes of them; a path with a slash at its end is a
// directory. TestIgnoreOracle checks them against git.
var ignoreCases = []struct {
	rules             string
	ignored, retained string
}{
	{"a", "a a/ d/a d/a/", "b ab ba A"},
	{"/a", "a a/", "d/a"},
	{"a/", "a/ d/a/", "a d/a"},
	{"d/a", "d/a d/a/", "a x/d/a"},
	{"/d/a/", "d/a/", "d/a"},
	{"*.o", "x.o .o d/x.o", "x.oo o"},
	{"d/*.o", "d/x.o", "x.o d/e/x.o e/d/x.o"},
	{"**/a", "a d/a d/e/a", "d/ab"},
	{"d/**", "d/a d/e/a", "d/ d"},
	{"d/**/a", "d/a d/e/a d/e/f/a", "a da d/ea"},
	{"**", "a d/a", ""},
	{"a**/b", "a/b ab ax/b ax/y/b", "b x/ab"},
	{"?**/b", "", "a/c/b"},
	{"x/a**b", "x/ab x/acb", "x/a/b"},
	{"a?c", "abc a-c", "ac a/c"},
	{"d/?", "d/a", "d/ab d/e/f"},
	{"[ab]", "a b", "c ab"},
	{"[!ab]", "c", "a b"},
	{"[^ab]", "c", "a b"},
	{"[a-c]x", "ax bx cx", "dx -x"},
	{"[]a]", "] a", "b"},
	{"[!]a]", "b", "] a"},
	{"[a-]", "a -", "b"},
	{"[-a]", "a -", "b"},
	{"[[:digit:]]x", "1x", "ax"},
	{"[[:alpha:]_]", "a Z _", "1"},
	{"[[:nope:]]", "", "n :"},
	{"x[[:digit]", "xd x: x[", "x1"},
	{"x[[:[:d]", "xd x: x[", "x1"},
	{"x[[:d][[:digit:]]", "x:1 xd2", "x:d x12"},
	{"[[:[:digit:]", "", "[ 1"},
	{"x[[:punct:]]", "x! x[ x~", "xa x0"},
	{"[a", "", "a [a"},
	{`[\]]`, "]", "a"},
	{`[a\-c]`, "a - c", "b"},
	{"d[/]a", "", "d/a"},
	{"d/[!x]", "d/a", "d/x"},
	{`\a`, "a", `b`},
	{`\*`, "*", "a"},
	{`a\`, "", "a"},
	{`\!a`, "!a", "a"},
	{`\#a`, "#a", "a"},
	{"#a", "", "a #a"},
	{"a \nb\\ \nc", "a b\\s c", "b"},
	{"a\r\nb\r\n", "a b", "c"},
	{"\ufeffa", "a", "b"},
	{"  ", "", "a"},
	{"a\t", "a\\t", "a"},
	{"*\n!a", "b d/", "a"},
	{"*.o\n!keep.o", "x.o d/x.o", "keep.o d/keep.o"},
	{"!a\na", "a", "b"},
	{"d/\n!d/a", "d/", ""},
	{"d/*\n!d/a", "d/b d/e/", "d/ d/a"},
	{"/*\n!/d/", "a e/", "d/ d/a"},
	{"/", "", "a d/"},
	{"//", "", "a d/"},
	{"a//", "", "a/"},
	{"!", "", "a !"},
	{"ä?", "äx", "äö"},
	{"*a*a*a*b", "aaab xaxaxaxb", "aaaa"},
	{"**/d/**/a*b/**", "d/ab/x x/d/y/acb/z/w", "d/ab"},
}

// unescape makes a path of a field: a list of fields cannot contain blanks.
func unescape(field string) string {
	return strings.NewReplacer(`\s`, " ", `\t`, "\t").Replace(field)
}

func isIgnored(t testing.TB, dirs []ignoreDir, path string, isDir bool) bool {
	t.Helper()
	ignored, err := ignores(t.Context(), dirs, path, isDir)
	if err != nil {
		t.Fatal(err)
	}
	return ignored
}

func TestIgnore(t *testing.T) {
	for _, c := range ignoreCases {
		rules := []ignoreDir{{parseIgnore([]byte(c.rules)), 0}}
		for want, list := range map[bool]string{true: c.ignored, false: c.retained} {
			for _, field := range strings.Fields(list) {
				path, isDir := strings.CutSuffix(unescape(field), "/")
				if got := isIgnored(t, rules, path, isDir); got != want {
					t.Errorf("%q: %q is ignored: %t", c.rules, field, got)
				}
			}
		}
	}
}

// Rules of a deeper directory win, and are relative to it.
func TestIgnoreNested(t *testing.T) {
	dirs := []ignoreDir{{parseIgnore([]byte("*.o\n/b")), 0}, {parseIgnore([]byte("!x.o\n/a\n")), len("d/")}}
	for path, want := range map[string]bool{"d/x.o": false, "d/y.o": true, "d/a": true, "d/e/a": false, "d/e/x.o": false, "d/b": false} {
		if got := isIgnored(t, dirs, path, false); got != want {
			t.Errorf("%q is ignored: %t", path, got)
		}
	}
}

// gitIgnores returns which paths git ignores. A file must exist for git to know that it is a
// directory. The paths have no directories that are ignored.
func gitIgnores(t testing.TB, dir string, rules string, paths []string) map[string]bool {
	t.Helper()
	testkit.Need(t, "git")
	run := func(stdin string, args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		out, err := cmd.Output()
		if exit, ok := err.(*exec.ExitError); ok && exit.ExitCode() == 1 {
			err = nil // no path is ignored
		}
		if err != nil {
			t.Fatalf("git %q: %v", args, err)
		}
		return out
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		run("", "init", "-q")
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	out := run(strings.Join(paths, "\x00")+"\x00", "check-ignore", "-z", "--stdin", "--no-index")
	ignored := make(map[string]bool)
	for path := range bytes.SplitSeq(out, []byte{0}) {
		ignored[string(path)] = true
	}
	return ignored
}

// What we ignore is what git ignores, in a tree with all names of the cases.
func TestIgnoreOracle(t *testing.T) {
	if testing.Short() {
		t.Skip("starts git for each case")
	}
	for i, c := range ignoreCases {
		dir := t.TempDir()
		var paths []string
		for _, field := range strings.Fields(c.ignored + " " + c.retained) {
			path, isDir := strings.CutSuffix(unescape(field), "/")
			if slices.ContainsFunc(paths, func(p string) bool {
				return p == path || strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/")
			}) {
				continue // it cannot be both a file and a directory
			}
			paths = append(paths, path)
			full := filepath.Join(dir, path)
			make := os.MkdirAll
			if !isDir {
				if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
					t.Fatal(err)
				}
				make = func(path string, mode os.FileMode) error { return os.WriteFile(path, nil, mode) }
			}
			if err := make(full, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		ignored := gitIgnores(t, dir, c.rules, paths)
		rules := []ignoreDir{{parseIgnore([]byte(c.rules)), 0}}
		for _, path := range paths {
			if got := oursIgnores(t, rules, dir, path); got != ignored[path] {
				t.Errorf("case %d, %q: %q is ignored by us: %t, by git: %t", i, c.rules, path, got, ignored[path])
			}
		}
	}
}

// oursIgnores decides about each directory on the way, as the search does.
func oursIgnores(t testing.TB, rules []ignoreDir, dir, path string) bool {
	t.Helper()
	for i := range path {
		if path[i] == '/' && isIgnored(t, rules, path[:i], true) {
			return true
		}
	}
	info, err := os.Lstat(filepath.Join(dir, path))
	if err != nil {
		t.Fatal(err)
	}
	return isIgnored(t, rules, path, info.IsDir())
}

// A "?" needs no memory of its own: a .gitignore file can have very many of them.
func TestPatternShares(t *testing.T) {
	tokens := append(parsePattern("??").tokens, parsePattern("a?").tokens[1])
	for _, k := range tokens {
		if k.set != tokens[0].set {
			t.Error("a set for each \"?\"")
		}
	}
	if size := reflect.TypeOf(tokens[0].set).Elem().Size(); size > 32 {
		t.Errorf("%d bytes for a set", size)
	}
}

// Many wildcards cost no more than the product of the lengths.
func TestPatternCost(t *testing.T) {
	p := parsePattern(strings.Repeat("*a", 500) + "b")
	if p.matches(strings.Repeat("a", 4000), false, nil) {
		t.Error("it matches")
	}
	p = parsePattern(strings.Repeat("**/a*/", 100) + "b")
	if p.matches(strings.Repeat("aa/", 1000)+"c", false, nil) {
		t.Error("it matches")
	}
}

// The names of classes are looked for once. If each "[:" were looked at to its end, this would take
// longer than the test can.
func TestPatternClassCost(t *testing.T) {
	for _, end := range []string{"", "]", "x]", ":]"} {
		p := parsePattern("[" + strings.Repeat("[:", 4<<20) + end)
		if matches, want := p.matches(":", false, nil), end == "x]"; matches != want {
			t.Errorf("%q: %t", end, matches)
		}
	}
}

// endingContext ends when it has been asked a number of times.
type endingContext struct {
	context.Context
	left int
}

func (c *endingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// The end of a search is noticed between two rules, and within one that takes long.
func TestIgnoreInterrupted(t *testing.T) {
	path := strings.Repeat("a", 4000)
	for name, rules := range map[string]string{"many": strings.Repeat("b\n", 1000), "long": "*" + strings.Repeat("a", 2000) + "b"} {
		dirs := []ignoreDir{{parseIgnore([]byte(rules)), 0}}
		ctx := &endingContext{t.Context(), 2}
		if _, err := ignores(ctx, dirs, path, false); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if ctx.left < -2 {
			t.Errorf("%s: continued after the end, and asked %d times", name, 2-ctx.left)
		}
	}
}

// Any rules are parsed, and any of them that git could read decide like git's, in a small tree.
func FuzzIgnore(f *testing.F) {
	for _, c := range ignoreCases {
		f.Add([]byte(c.rules), "d/a")
	}
	f.Fuzz(func(t *testing.T, rules []byte, path string) {
		parsed := []ignoreDir{{parseIgnore(rules), 0}}
		for _, isDir := range []bool{false, true} {
			got := isIgnored(t, parsed, path, isDir)
			if again := isIgnored(t, []ignoreDir{{append(parseIgnore(rules), parseIgnore([]byte("#"))...), 0}}, path, isDir); got != again {
				t.Fatalf("%q: %t and %t", path, got, again)
			}
		}
	})
}

// FuzzIgnoreGit compares with git, which is slow. It is for a developer who changes the parser.
func FuzzIgnoreGit(f *testing.F) {
	if testing.Short() {
		f.Skip("starts git for each input")
	}
	dir := f.TempDir()
	paths := []string{"a", "ab", "b/a", "b/c/a", "b/c/d.o", "x.o", "-", "]", "d/e", "1", "A", "!a", "#a"}
	for _, path := range paths {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700); err != nil {
			f.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), nil, 0o600); err != nil {
			f.Fatal(err)
		}
	}
	paths = append(paths, "b", "b/c", "d")
	for _, c := range ignoreCases {
		f.Add(c.rules)
	}
	f.Fuzz(func(t *testing.T, rules string) {
		if strings.Contains(rules, "\x00") {
			return // the end of a line, to git
		}
		ignored := gitIgnores(t, dir, rules, paths)
		parsed := []ignoreDir{{parseIgnore([]byte(rules)), 0}}
		for _, path := range paths {
			if got := oursIgnores(t, parsed, dir, path); got != ignored[path] {
				t.Errorf("%q: %q is ignored by us: %t, by git: %t", rules, path, got, ignored[path])
			}
		}
	})
}

func TestGlob(t *testing.T) {
	for _, c := range []struct{ pattern, matches, others string }{
		{"*.go", "a.go d/a.go", "a.goo d/"},
		{"/*.go", "a.go", "d/a.go"},
		{"./*.go", "a.go d/a.go", ""},
		{"d/*.go", "d/a.go", "a.go d/e/a.go"},
		{"**/*.go", "a.go d/e/a.go", "a"},
		{"d/**", "d/a d/e/a", "a d/ d/e/"},
		{"d/**/a.{go,md}", "d/a.go d/e/a.md", "d/a.txt"},
		{"{a,b/{c,d}}/x", "a/x b/c/x b/d/x", "b/x"},
		{"{a}", "{a}", "a"},
		{`\{a,b\}`, "{a,b}", "a"},
		{`\{a`, "{a", "a"},
		{"a}", "a}", "a"},
		{"a..b", "a..b", "a"},
		{"./d/*.go", "d/a.go", "a.go"},
		{"a,b", "a,b", "a"},
		{"x{,y}", "x xy", "xyy"},
		{"d/", "d/ e/d/", "d"},
		{"**/", "d/ e/d/", "d"},
		{"[a-c].txt", "a.txt", "d.txt"},
	} {
		g, err := ParseGlob(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		for want, list := range map[bool]string{true: c.matches, false: c.others} {
			for _, field := range strings.Fields(list) {
				path, isDir := strings.CutSuffix(field, "/")
				if got := g.Match(path, isDir); got != want {
					t.Errorf("%q selects %q: %t", c.pattern, field, got)
				}
			}
		}
	}
	for _, bad := range []string{"", "/", "[a", `a\`, "a[[:x:]]", "{a", "*.{go,md", "{a,{b}", "../a", "a/../b", "a/..", "/..", "{a,..}/b", "a/./b", "a//b", "//a", "a//", ".", strings.Repeat("{a,b}", 10), strings.Repeat("a", 1001)} {
		if g, err := ParseGlob(bad); err == nil {
			t.Errorf("%.20q: %d patterns", bad, len(g))
		}
	}
}

func FuzzGlob(f *testing.F) {
	f.Add("**/*.{go,md}", "d/a.go")
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := ParseGlob(pattern)
		if err == nil && len(g) > maxAlternatives {
			t.Error(len(g))
		}
		_ = g.Match(path, false)
		_ = fmt.Sprint(err)
	})
}
