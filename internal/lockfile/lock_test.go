package lockfile

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/toml"
	"github.com/perstack-go/perstack/rawjson"
)

func lockTool(t testing.TB, definition string) Tool {
	t.Helper()
	tool, err := ParseTool([]byte(definition))
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// sampleLock has one of everything, and text that is hard to write down.
func sampleLock(t testing.TB) *Lock {
	digest := strings.Repeat("0123456789abcdef", 4)
	return &Lock{
		GeneratedAt: 1766900000000, ConfigPath: "perstack.toml",
		Images: []Image{
			{Name: "squid:6", Pinned: "sha256:" + digest},
			{Name: "host.example:5000/node:24", Pinned: "host.example:5000/node@sha256:" + digest},
			{Name: "node:24-bookworm-slim", Pinned: "node:24-bookworm-slim@sha256:" + digest},
		},
		Experts: []*Expert{
			{
				Key: "writer", Name: "writer", Version: "1.0.0", Instruction: "Write.\n\tSay \"so\".", Definition: digest,
				Description: "hidden \u200b\U000e0041\u202e here", Delegates: []string{"@acme/editor"}, Tags: []string{"a", "b'c"},
				Skills: []*Skill{
					{Name: "web", Digest: digest, Package: &Package{
						Manager: "npx", Name: "@acme/web", Version: "1.2.3", Integrity: "sha512-AAAA==", Tree: "{\"lockfileVersion\":3,\"packages\":{\n\"a\":{},\n\"it's\":{}\n}}",
					}, Tools: []Tool{
						lockTool(t, `{"name":"search","inputSchema":{"type":"object","properties":{"q":{"enum":[null,"it's",1.50]},"a":{"default":null}}},"annotations":{"readOnlyHint":true}}`),
						lockTool(t, "{\"name\":\"fetch\",\"title\":\"Fetch\",\"description\":\"Do \u200bthis\",\"inputSchema\":{}}"),
						lockTool(t, `{"name":"''","description":"'''","inputSchema":{}}`),
					}},
					{Name: "@a/uv", Digest: digest, Package: &Package{Manager: "uvx", Name: "tool"}},
					{Name: "plain", Digest: digest},
				},
			},
			{
				Key: "@acme/editor", Name: "@acme/editor", Version: "2.0.0", Instruction: "Edit.", Definition: digest, Delegates: []string{}, Tags: []string{},
				ProviderTools:  []string{"webSearch", "fileSearch"},
				ProviderSkills: []expert.ProviderSkill{{Type: "builtin", SkillID: "pdf"}, {Type: "custom", Name: "it's", Definition: "{\n\"a\":\"it's\"}"}},
				ProviderToolOptions: &expert.ProviderToolOptions{
					WebSearch: &expert.WebSearchOptions{MaxUses: 5, AllowedDomains: []string{"example.com"}}, WebFetch: &expert.WebFetchOptions{}, FileSearch: &expert.FileSearchOptions{MaxNumResults: 3},
				},
			},
		},
	}
}

// The text is the same on every machine, and shows what would be hidden.
func TestLockEncode(t *testing.T) {
	got := string(sampleLock(t).Encode())
	testkit.Golden(t, "sample.lock", got)
	if strings.ContainsAny(got, "\u200b\u202e\U000e0041\t") {
		t.Errorf("hidden characters are in the file: %q", got)
	}
	for _, word := range []string{`version = "1"`, "generatedAt", "inputSchema", "skillName", "search"} {
		if !strings.Contains(got, word) {
			t.Errorf("%q is not in the file", word)
		}
	}
}

// What was written is read back, whatever the order was in which it was put together.
func TestLockRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perstack.lock")
	l := sampleLock(t)
	if err := l.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Encode(), l.Encode()) {
		t.Errorf("read and written again (-want +got):\n%s", cmp.Diff(string(l.Encode()), string(got.Encode())))
	}
	if len(got.Images) != 3 || got.Images[0].Name != "host.example:5000/node:24" || got.Images[2] != l.Images[0] {
		t.Errorf("images = %+v", got.Images)
	}
	if got.Path != path {
		t.Errorf("Path = %q", got.Path)
	}
	editor, _ := got.Expert("@acme/editor")
	if sample := l.Experts[1]; !slices.Equal(editor.ProviderTools, sample.ProviderTools) || !slices.Equal(editor.ProviderSkills, sample.ProviderSkills) || editor.ProviderToolOptions.WebSearch.MaxUses != 5 {
		t.Errorf("what the provider runs: %+v", editor)
	}
	e, _ := got.Expert("writer")
	s, _ := e.Skill("web")
	want, _ := l.Experts[0].Skill("web")
	if diff := cmp.Diff(want.Package, s.Package); diff != "" {
		t.Errorf("package (-want +got):\n%s", diff)
	}
	search := s.Tools[2]
	if search.Name != "search" || !search.Repeatable || search.Digest != want.Tools[0].Digest {
		t.Errorf("tool = %+v", search)
	}
	// null and numbers survive as they are written: a digest depends on them.
	if text := string(search.InputSchema); !strings.Contains(text, `[null,"it's",1.50]`) || !strings.Contains(text, `{"default":null}`) {
		t.Errorf("inputSchema = %s", text)
	}
	if e.Description != l.Experts[0].Description || e.Instruction != l.Experts[0].Instruction {
		t.Errorf("texts = %q, %q", e.Description, e.Instruction)
	}
}

// A checkout with the line ends of Windows is the same lock.
func TestLockLineEnds(t *testing.T) {
	text := sampleLock(t).Encode()
	got, problems := parseLock("perstack.lock", bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	if len(problems) > 0 || !bytes.Equal(got.Encode(), text) {
		t.Errorf("%v, %v", got, problems)
	}
}

// Each error names the file, the line where there is one, and the command that fixes it.
func TestReadLockRefuses(t *testing.T) {
	good := string(sampleLock(t).Encode())
	digest := sampleLock(t).Experts[0].Skills[0].Tools[1].Digest
	with := func(old, text string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("%q is not in the sample", old)
		}
		return strings.Replace(good, old, text, 1)
	}
	for name, test := range map[string]struct{ text, want string }{
		"empty":             {"", ":1:1: version: is required"},
		"empty version":     {`version = ""`, `version: is "", and this program reads "1"`},
		"number as version": {with(`version = "1"`, "version = 1"), ":2:11: version: must be a string, not an integer"},
		"truncated":         {good[:len(good)-20], ": "},
		"half":              {good[:len(good)/2], ": "},
		"merge":             {"<<<<<<< ours\n" + good, ":1:1: "},
		"unknown key":       {with("configPath", "x = 1\nconfigPath"), ":4:1: x: unknown key; install the Experts again"},
		"unknown in skill":  {with("manager = \"npx\"", "manager = \"npx\"\nscripts = true"), "package.scripts: unknown key"},
		"no time":           {with("generatedAt = 1766900000000", "generatedAt = -1"), "generatedAt: must be a time"},
		"edited":            {with("Do \\u200Bthis", "Do that"), "does not have the digest that stands beside it: it was edited"},
		"edited digest":     {with(digest, strings.Repeat("0", 64)), "it was edited"},
		"short digest":      {with(digest, digest[1:]), "digest: is not a SHA-256 in hex"},
		"another name":      {with(`name = "search"`, `name = "serch"`), `is of "search", not of "serch"`},
		"another skill":     {with(`skillName = "web"`, `skillName = "net"`), "is not a skill of this Expert"},
		"another key":       {with(`key = "writer"`, `key = "reader"`), `key: is "reader" in the table of "writer"`},
		"twice":             {good + "\n[experts.writer]\n", "experts.writer: defined twice"},
		"tool twice":        {good + good[strings.LastIndex(good, "\n[["):], `the skill "web" has the tool "search" twice`},
		"other manager":     {with(`manager = "npx"`, `manager = "sh"`), "package.manager: unknown value"},
		"no JSON":           {with(`definition = '''{"annotations`, `definition = '''{"annotations"`), "definition: the definition of a tool is not JSON"},
		"no instruction":    {with(`instruction = "Edit."`, ""), "instruction: is required"},
		"no tags":           {with(`tags = []`, ""), "tags: is required"},
		"redefined":         {good + "\n[experts.\"@acme/editor\"]\nkey.x = 1\n", ": "},
		"escape":            {with(`version = "1"`, "version = \"\\u001b[2J\""), `version: is "\x1b[2J"`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "perstack.lock")
			if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
				t.Fatal(err)
			}
			l, err := ReadFile(path)
			if err == nil {
				t.Fatalf("accepted: %s", l.Encode())
			}
			for _, want := range []string{path, test.want, "install the Experts again"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error = %v, want %q", err, want)
				}
			}
			if strings.ContainsAny(err.Error(), "\x1b\u202e") {
				t.Errorf("the error acts on terminals: %q", err)
			}
		})
	}
}

// A lockfile of another version, or of another program, is not fixed by installing: the
// error says so, and tells install to leave it alone.
func TestReadLockKeeps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perstack.lock")
	text := strings.Replace(string(sampleLock(t).Encode()), `version = "1"`, `version = "2"`+"\nmore = 1\nmore = 2", 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, version := ReadFile(path)
	for want, err := range map[string]error{
		`:2:11: version: is "2", and this program reads "1"; update perstack`: version,
		": cannot be read: permission denied; let yourself read it":           unreadable(path, syscall.EACCES),
	} {
		var kept *KeepError
		var problems toml.Problems
		if !errors.As(err, &kept) || !errors.As(err, &problems) || !strings.Contains(err.Error(), path+want) || strings.Contains(err.Error(), InstallAgain) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
	var kept *KeepError
	if err := unreadable(path, syscall.EIO); errors.As(err, &kept) || !strings.HasSuffix(err.Error(), "; install the Experts again") {
		t.Errorf("error = %v", err)
	}
}

// A lockfile that no run could read is not written.
func TestLockWriteRefuses(t *testing.T) {
	dir := t.TempDir()
	for want, change := range map[string]func(*Lock){
		"it would be larger than 16 MiB": func(l *Lock) { l.Experts[0].Description = strings.Repeat("x", maxLock) },
		"it could not be read again: ":   func(l *Lock) { l.Experts[1].Definition = "" },
	} {
		l := sampleLock(t)
		change(l)
		path := filepath.Join(dir, "perstack.lock")
		if err := l.Write(path); err == nil || !strings.Contains(err.Error(), "cannot write "+path+": "+want) || strings.Contains(err.Error(), InstallAgain) {
			t.Errorf("error = %v, want %q", err, want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
}

// Slips in pick and omit are named, with what was meant.
func TestUnknownTools(t *testing.T) {
	l := &Skill{Tools: []Tool{{Name: "search"}, {Name: "delete_file"}}}
	got := l.UnknownTools(&expert.Skill{Pick: []string{"search", "other"}, Omit: []string{"deletefiel", "search"}})
	want := []string{
		`pick names the tool "other", which the skill does not have`,
		`omit names the tool "deletefiel", which the skill does not have; did you mean "delete_file"?`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A lockfile that cannot be read at all says so in the same way.
func TestReadLockMissing(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.lock")
	if err := os.WriteFile(large, make([]byte, maxLock+1), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.lock"): "cannot be read: no such file or directory; install the Experts again",
		dir:                             "cannot be read: not a regular file; install the Experts again",
		large:                           "cannot be read: larger than 16 MiB; install the Experts again",
	} {
		if _, err := ReadFile(path); err == nil || err.Error() != path+": "+want {
			t.Errorf("error = %v, want %s", err, want)
		}
	}
}

// The old file is replaced whole, and a link is replaced rather than followed.
func TestLockWrite(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "perstack.lock"), filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("untouched"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := sampleLock(t).Write(path); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(target); err != nil || string(text) != "untouched" {
		t.Errorf("the target of the link is %q, %v", text, err)
	}
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o600 != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%d files are left, %v", len(entries), err)
	}
	if err := sampleLock(t).Write(filepath.Join(dir, "none", "perstack.lock")); err == nil || !strings.Contains(err.Error(), "cannot write ") {
		t.Errorf("error = %v", err)
	}
}

// A definition has one digest, however it is laid out, and another one when anything in
// it that somebody could notice is another.
func TestDefinitionDigest(t *testing.T) {
	const tool = `{"name":"a","inputSchema":{"type":"object","maximum":1.0}}`
	same := `{ "inputSchema": {"maximum":1.0, "type":"\u006fbject"}, "name": "a" }`
	if lockTool(t, tool).Digest != lockTool(t, same).Digest {
		t.Error("layout changes the digest")
	}
	for _, other := range []string{
		`{"name":"a","inputSchema":{"type":"object","maximum":1}}`,
		`{"name":"a","inputSchema":{"type":"object","maximum":1.0},"outputSchema":{}}`,
		`{"name":"a","inputSchema":{"type":"object","maximum":1.0},"title":null}`,
		"{\"name\":\"a\u200b\",\"inputSchema\":{\"type\":\"object\",\"maximum\":1.0}}",
	} {
		if lockTool(t, tool).Digest == lockTool(t, other).Digest {
			t.Errorf("%s has the digest of %s", other, tool)
		}
	}
}

func TestCanonicalJSONRefuses(t *testing.T) {
	for _, text := range []string{"", "{", `{"a":1,"a":1}`, "\"\xff\"", `"\ud800"`, "1 2"} {
		if v, err := canonicalJSON([]byte(text)); err == nil {
			t.Errorf("%q became %s", text, v)
		}
	}
}

func TestLockToolRefuses(t *testing.T) {
	for definition, want := range map[string]string{
		``:                                   "is not JSON",
		`[]`:                                 "is not one",
		`{"name":"a"}`:                       "has no inputSchema",
		`{"name":"a","inputSchema":[]}`:      "has no inputSchema",
		`{"name":1,"inputSchema":{}}`:        "is not one",
		`{"inputSchema":{}}`:                 "has no name",
		`{"name":"a","name":"b"}`:            "is not JSON",
		`{"name":"a","inputSchema":{"a":1},`: "is not JSON",
	} {
		if _, err := ParseTool([]byte(definition)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error = %v, want %q", definition, err, want)
		}
	}
	for annotations, want := range map[string]bool{
		`{"readOnlyHint":true}`: true, `{"idempotentHint":true}`: true,
		`null`: false, `{"readOnlyHint":"yes"}`: false, `[]`: false, `{"readOnlyHint":false}`: false, `{"READONLYHINT":true}`: false,
	} {
		if got := lockTool(t, `{"name":"a","inputSchema":{},"annotations":`+annotations+`}`).Repeatable; got != want {
			t.Errorf("%s: repeatable = %t", annotations, got)
		}
	}
}

// Whether a lockfile can be written is known without writing it, and the check leaves nothing.
func TestCheckWritable(t *testing.T) {
	dir := t.TempDir()
	if err := CheckWritable(filepath.Join(dir, "perstack.lock")); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if err := CheckWritable(filepath.Join(dir, "missing", "perstack.lock")); err == nil || !strings.Contains(err.Error(), "cannot write") {
		t.Errorf("a missing directory: %v", err)
	}
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		return // nothing is read-only there
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := CheckWritable(filepath.Join(dir, "perstack.lock")); err == nil || !strings.Contains(err.Error(), "make its directory writable") {
		t.Errorf("a read-only directory: %v", err)
	}
}

// T15: definitions that would take seconds to check are refused before they are parsed.
func TestTooManyMembers(t *testing.T) {
	lock := func(tools, commas int) string {
		definition := `{"inputSchema":{},"name":"x","y":[1` + strings.Repeat(",1", commas-2) + `]}`
		var b strings.Builder
		digest := strings.Repeat("0", 64)
		b.WriteString("version = '1'\ngeneratedAt = 1\nconfigPath = 'perstack.toml'\n[experts.a]\nkey = 'a'\nname = 'a'\nversion = '1.0.0'\n" +
			"instruction = 'x'\ndelegates = []\ntags = []\ndefinition = '" + digest + "'\n[experts.a.skills.s]\ndigest = '" + digest + "'\n")
		for range tools {
			b.WriteString("[[experts.a.toolDefinitions]]\nskillName = 's'\nname = 'x'\ndefinition = '" + definition + "'\ndigest = '" + digest + "'\n")
		}
		return b.String()
	}
	for _, tt := range []struct {
		tools, commas int
		refused       bool
	}{
		{1, maxCommas, false},
		{1, maxCommas + 1, true},
		{maxLargeCommas / maxCommas, maxCommas, false},
		{maxLargeCommas/maxCommas + 1, maxCommas, true},
		{maxLargeCommas/(largeCommas+1) + 1, largeCommas + 1, true},
		{maxLargeCommas/largeCommas + 1, largeCommas, false},
	} {
		_, problems := parseLock("perstack.lock", []byte(lock(tt.tools, tt.commas)))
		// Another digest is found in each that was parsed; the first three problems are reported.
		r, root := toml.ReadTree("perstack.lock", []byte(lock(tt.tools, tt.commas)))
		reader := &lockReader{Reader: r}
		reader.lock(root)
		refused := slices.ContainsFunc(reader.Problems, func(p toml.Problem) bool { return strings.Contains(p.Message, "too many members") })
		if refused != tt.refused || len(problems) == 0 {
			t.Errorf("%d tools with %d commas: %v, %v", tt.tools, tt.commas, refused, problems)
		}
	}
}

// T15: so are the trees of packages.
func TestTooManyPackages(t *testing.T) {
	digest := strings.Repeat("0", 64)
	lock := func(commas ...int) string {
		text := "version = '1'\ngeneratedAt = 1\nconfigPath = 'perstack.toml'\n[experts.a]\nkey = 'a'\nname = 'a'\nversion = '1.0.0'\n" +
			"instruction = 'x'\ndelegates = []\ntags = []\ndefinition = '" + digest + "'\n"
		for i, n := range commas {
			text += fmt.Sprintf("[experts.a.skills.s%d]\ndigest = '%s'\n[experts.a.skills.s%d.package]\nmanager = 'npx'\nname = 'x'\nversion = '1.0.0'\ntree = '%s'\n",
				i, digest, i, strings.Repeat(",", n))
		}
		return text
	}
	if _, err := Parse("perstack.lock", []byte(lock(maxTreeCommas/2, maxTreeCommas/2))); err != nil {
		t.Error(err)
	}
	if _, err := Parse("perstack.lock", []byte(lock(maxTreeCommas/2, maxTreeCommas/2, 1))); err == nil || !strings.Contains(err.Error(), "trees of the packages have too many members") {
		t.Error(err)
	}
}

// T15: sorting the members of a definition must not move its text thousands of times.
func TestNestedDefinition(t *testing.T) {
	nested := func(depth int) rawjson.Value {
		return rawjson.Value(`{"name":"x","inputSchema":` + strings.Repeat(`{"b":0,"a":`, depth-1) + "1" + strings.Repeat("}", depth))
	}
	if _, err := ParseTool(nested(maxDefinitionDepth)); err != nil {
		t.Error(err)
	}
	for _, depth := range []int{maxDefinitionDepth + 1, 9000} {
		if _, err := ParseTool(nested(depth)); err == nil || err.Error() != "the definition of a tool is nested more than 64 deep" {
			t.Errorf("%d levels: %v", depth, err)
		}
	}
	if _, err := ParseTool(nested(20_000)); err == nil || !strings.Contains(err.Error(), "is not JSON") {
		t.Error(err)
	}
}

// The largest lockfile that can be written can be read: the limits of what it costs are not for those
// who have many tools.
func TestLargestLock(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes and reads 15 MiB")
	}
	member := `"option%02d":{"description":"Limits what is found, such as a name, a date, or a label.","enum":["first","second","third"],"type":"string"}`
	var members []string
	for i := range 12 {
		members = append(members, fmt.Sprintf(member, i))
	}
	l := &Lock{GeneratedAt: 1, ConfigPath: "perstack.toml"}
	for size := 0; size < 15<<20; {
		e := &Expert{Key: fmt.Sprintf("e%d", len(l.Experts)), Name: "e", Version: "1.0.0", Instruction: "x", Definition: strings.Repeat("0", 64)}
		s := &Skill{Name: "s", Digest: strings.Repeat("0", 64)}
		for i := range 50 {
			definition := fmt.Sprintf(`{"name":"tool%d","description":"Finds issues, e.g. by label.","inputSchema":{"properties":{%s},"type":"object"}}`, i, strings.Join(members, ","))
			tool, err := ParseTool(rawjson.Value(definition))
			if err != nil {
				t.Fatal(err)
			}
			size += len(definition) + 200
			s.Tools = append(s.Tools, tool)
		}
		e.Skills = []*Skill{s}
		l.Experts = append(l.Experts, e)
	}
	text := l.Encode()
	if _, err := Parse("perstack.lock", text); err != nil || len(text) < 14<<20 {
		t.Errorf("%d bytes: %v", len(text), err)
	}
}
