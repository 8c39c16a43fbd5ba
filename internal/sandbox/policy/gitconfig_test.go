package policy

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestGitConfig(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"empty": {"", ""},
		"all": {
			"[user]\n\tname = Ann Example\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n",
			"[user]\n\tname = \"Ann Example\"\n\temail = \"ann@example.com\"\n[init]\n\tdefaultBranch = \"main\"\n",
		},
		"nothing else": {
			"[user]\n\tsigningkey = K\n\tname=A\n[credential]\n\thelper = !evil\n[include]\n\tpath = /x\n[core]\n\tsshCommand = x\n[url \"https://u:p@h/\"]\n\tinsteadOf = x\n[user \"x\"]\n\tname = B\n",
			"[user]\n\tname = \"A\"\n",
		},
		"letter case, last one wins":  {"[USER]\nName = a\n[user]\nNAME = b\n", "[user]\n\tname = \"b\"\n"},
		"quotes and escapes":          {"[user]\nname = \" a \\\"b\\\\ \" c \\\n d # x\n", "[user]\n\tname = \" a \\\"b\\\\  c  d\"\n"},
		"control characters":          {"[user]\nname = a\\nb\\tc\x1b[31m\u202e\n", "[user]\n\tname = \"abc[31m\"\n"},
		"comments":                    {"# [user]\n; name = x\n[user] # c\nname = a ; b\n", "[user]\n\tname = \"a\"\n"},
		"on one line":                 {"[user] name = a\n", "[user]\n\tname = \"a\"\n"},
		"carriage returns":            {"[user]\r\nname = a\r\n", "[user]\n\tname = \"a\"\n"},
		"stops at what git refuses":   {"[user]\nname = a\n]\nname = b\n", "[user]\n\tname = \"a\"\n"},
		"an open quote":               {"[user]\nname = \"a\n", ""},
		"no section":                  {"name = a\n", ""},
		"a dotted subsection":         {"[user.x]\nname = a\n", ""},
		"a value that ends a section": {"[user]\nname = \"]\\n[core]\\nsshCommand = x\"\n", "[user]\n\tname = \"][core]sshCommand = x\"\n"},
		"not UTF-8":                   {"[user]\nname = a\xffb\n", "[user]\n\tname = \"ab\"\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, GitConfig([]byte(test.in))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := GitConfig([]byte("[user]\nname = " + strings.Repeat("é", 5000) + "\n")); len(got) > 2*maxGitValue || !utf8.ValidString(got) {
		t.Errorf("a long value became one of %d bytes", len(got))
	}
}

// git reads the result, and finds in it what it finds in the original.
func FuzzGitConfig(f *testing.F) {
	f.Add([]byte("[user]\n\tname = Ann \"E\\\\\" # x\n\temail = a@b\n[init]\ndefaultBranch=main"))
	f.Add([]byte("[user \"a\\\"]\"]\nname\n[user]name=;\n[include]path=x"))
	f.Fuzz(func(t *testing.T, content []byte) {
		got := GitConfig(content)
		if again := GitConfig([]byte(got)); again != got {
			t.Fatalf("%q became %q, and then %q", content, got, again)
		}
		for line := range strings.Lines(got) {
			known := false
			for _, begin := range []string{"[user]\n", "[init]\n", "\tname = \"", "\temail = \"", "\tdefaultBranch = \""} {
				known = known || strings.HasPrefix(line, begin)
			}
			if !known {
				t.Fatalf("%q has the line %q", content, line)
			}
		}
		if strings.ContainsFunc(strings.NewReplacer("\n", "", "\t", "").Replace(got), func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Fatalf("%q has control characters", got)
		}
	})
}

func TestGitConfigIsReadByGit(t *testing.T) {
	dir := tempDir(t)
	for _, in := range []string{
		"[user]\n\tname = Ann \"E # x\" y\n\temail = a@example.com ; c\n[init]\n\tdefaultBranch = \"m\\\\ain\"\n",
		"[user]\n\tname = a\\\n b  c\t d\n[init]defaultbranch = x\n[credential]\nhelper = y\n",
	} {
		read := func(content, key string) string {
			path := filepath.Join(dir, "config")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), "git", "config", "--file", path, "--get", key).Output()
			if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			return string(out)
		}
		for _, key := range []string{"user.name", "user.email", "init.defaultBranch"} {
			want := strings.ReplaceAll(read(in, key), "\t", " ")
			if got := read(GitConfig([]byte(in)), key); got != want {
				t.Errorf("%s of %q: got %q, want %q", key, in, got, want)
			}
		}
		if got := read(GitConfig([]byte(in)), "credential.helper"); got != "" {
			t.Errorf("there is a helper %q", got)
		}
	}
}
