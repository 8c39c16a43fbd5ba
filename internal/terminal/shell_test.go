package terminal

import (
	"strings"
	"testing"
)

func TestShellJoin(t *testing.T) {
	for _, tt := range []struct {
		words []string
		want  string
	}{
		{[]string{"run", "@acme/writer@1.2.0", "--config", "./a-b_c.toml"}, "run @acme/writer@1.2.0 --config ./a-b_c.toml"},
		{[]string{""}, "''"},
		{[]string{"my file", "a  b"}, "'my file' 'a  b'"},
		{[]string{"it's", "$(id)", "~/x", "a;b", "*"}, `'it'\''s' '$(id)' '~/x' 'a;b' '*'`},
		{[]string{"日本"}, "'日本'"},
		{[]string{"a\nb", "a\tb", "a\rb"}, `$'a\nb' $'a\tb' $'a\015b'`},
		{[]string{"\x1b[2J.env", "\x1b]0;it's\x07"}, `$'\033[2J.env' $'\033]0;it\'s\007'`},
		{[]string{`a\` + "\n"}, `$'a\\\n'`},
		{[]string{"\u202egpj.exe", "a\u200bb", "\u009b1m"}, `$'\342\200\256gpj.exe' $'a\342\200\213b' $'\302\2331m'`},
		{[]string{"bad \xff"}, `$'bad \377'`},
	} {
		got := ShellJoin(tt.words...)
		if got != tt.want {
			t.Errorf("%q\n got %s\nwant %s", tt.words, got, tt.want)
		}
		if Clean(got) != got || strings.ContainsAny(got, "\n\t") {
			t.Errorf("%q is not safe to print: %q", tt.words, got)
		}
	}
}
