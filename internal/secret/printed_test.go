package secret

import (
	"encoding/base64"
	hexa "encoding/hex"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/internal/testkit/attack"
)

// commands print a file in another form, in which a secret is found.
var commands = []string{
	"cat", "cat -A", "fold -w 7", "fold -w 20", "pr -t -o 4 -w 12 -J", "grep --color=always .", "grep --color=always -e e -e 0 -e n",
	"xxd", "xxd -u", "xxd -c 8", "xxd -c 30 -g 1", "xxd -g 4", "xxd -p", "xxd -p -c 10", "xxd -i",
	"hexdump", "hexdump -C", "hexdump -c", "hexdump -b", "hexdump -x", "hd",
	"od", "od -a", "od -c", "od -b", "od -x", "od -t x1", "od -t x1z", "od -t x4", "od -t x8", "od -A x -t x1", "od -A d -t x1", "od -v -w32 -t x1", "od -An -tx1",
	"base64", "base64 -w 20", "iconv -t utf-16le", "iconv -t utf-16be", "iconv -t utf-16",
}

// uncovered are forms in which a secret is not found. Documentation names them.
var uncovered = []string{
	"od -d", "od -An -x", "xxd -b", "xxd -e", "rev", "tr a-z b-za", "gzip", "base32", "nl", "sed s/./&-/g",
}

// printedBy is what a command prints when it is given a text.
func printedBy(t testing.TB, command, text string) string {
	t.Helper()
	words := strings.Fields(command)
	testkit.Need(t, words[0])
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return string(out)
}

// What common programs print of a file with a secret shows no part of it, wherever it begins.
func TestRedactPrinted(t *testing.T) {
	secrets := []string{key, "k3j4h5g6f7d8s9a0", "Tr0ub4dor", "aZ3/kQ9x0bY4+lR8wcX5-mS7vdW6_nT6ueV7.oU5tfU8~pV4sgT9qW3rhSArX2qiRBsY1pjQCtZ0okPD"}
	for _, command := range commands {
		t.Run(command, func(t *testing.T) {
			for _, secret := range secrets {
				if strings.HasPrefix(command, "base64") && len(secret) < 16 {
					continue // too little of it decides, unless it begins a group
				}
				s := set("KEY", secret)
				for before := range 17 {
					if testing.Short() && before%5 != 0 {
						continue
					}
					text := strings.Repeat("#", before) + "\nK=" + secret + "\nother text, which is not secret\n"
					out := printedBy(t, command, text)
					got := s.Redact(out)
					if part := shows(got, secret); part != "" || !strings.Contains(got, hide) {
						t.Fatalf("%d bytes before %s: %q is left\n in %s\nout %s", before, secret, part, out, got)
					}
					if again := s.Redact(got); again != got {
						t.Fatalf("again:\n%s\n%s", got, again)
					}
				}
			}
		})
	}
	attack.Held(t, "T19", 1)
}

// shows returns six characters of a secret that can be read in a text, as they are or in
// hexadecimal digits in any order of a word.
func shows(text, secret string) string {
	text = strings.ReplaceAll(text, hide, "@")
	plain := strings.NewReplacer("\n", "", " ", "", "\x00", "", "\x1b[m\x1b[K", "", "\x1b[01;31m\x1b[K", "").Replace(text)
	digits := strings.ToLower(strings.NewReplacer(" ", "", "\n", "", "0x", "", ",", "").Replace(text))
	for i := range len(secret) - 5 {
		part := secret[i : i+6]
		if strings.Contains(text, part) || strings.Contains(plain, part) || strings.Contains(digits, hexa.EncodeToString([]byte(part))) {
			return part
		}
		swapped := []byte{part[1], part[0], part[3], part[2], part[5], part[4]}
		if strings.Contains(digits, hexa.EncodeToString(swapped)) {
			return part
		}
	}
	return ""
}

// A text that was cut shows no part of a secret of eight bytes or more, in these forms too.
func TestRedactPrintedAndCut(t *testing.T) {
	s := set("KEY", key)
	for _, command := range []string{"xxd -p -c 100", "od -An -tx1 -w100", "xxd", "hexdump -C", "iconv -t utf-16le", "fold -w 10"} {
		out := printedBy(t, command, "K="+key)
		for cut := range len(out) {
			if got := s.Redact(out[:cut]); leftOf(got, key) >= minLength {
				t.Errorf("%s, cut after %d bytes: %q", command, cut, got)
			}
		}
	}
}

// leftOf counts how many of the first characters of a secret are in a text, plain or in
// hexadecimal digits.
func leftOf(text, secret string) int {
	text = strings.NewReplacer("\x00", "", "\n", "", " ", "").Replace(text)
	n := 0
	for n < len(secret) && (strings.Contains(text, secret[:n+1]) || strings.Contains(text, hexa.EncodeToString([]byte(secret[:n+1])))) {
		n++
	}
	return n
}

// These forms are not recognised. If one of them is, take it off the list here and in the
// documentation.
func TestNotRedacted(t *testing.T) {
	s := set("KEY", key)
	for _, command := range uncovered {
		input := "K=" + key + "\n"
		if command == "nl" { // numbers in front of the lines of a secret
			input = wrap(key, 6, "\n") + "\n"
		}
		if out := printedBy(t, command, input); s.Redact(out) != out {
			t.Errorf("%s is covered:\n%s\n%s", command, out, s.Redact(out))
		}
	}
	for name, text := range map[string]string{
		"quoted lines":   wrap(key, 6, "\n> "),
		"HTML":           "&#115;&#107;&#45;" + key[3:9] + "&#47;" + key[10:],
		"a dump as JSON": jsonText(t, printedBy(t, "xxd -c 6", key)),
		"spaced letters": strings.Join(strings.Split(key, ""), " "),
	} {
		if got := s.Redact(text); got != text {
			t.Errorf("%s is covered: %q", name, got)
		}
	}
}

// Noise inside a secret, raw and escaped.
func TestRedactNoise(t *testing.T) {
	const gap = "\x1b]8;;https://x.example\x1b\\"
	s := set("KEY", key)
	for name, noise := range map[string]string{
		"colour": "\x1b[1;31m", "two": "\x1b[01;31m\x1b[K", "link": gap, "title": "\x1b]0;t\a", "character set": "\x1b(B",
		"line": "\n", "line of Windows": "\r\n", "indented": "\n    ", "tab": "\n\t\t", "continued": "\\\n  ", "zero": "\x00",
		"JSON colour": `\u001b[31m`, "JSON line": `\n    `, "JSON twice": `\\n`, "JSON zero": `\u0000`, "shell": `\x1b[0m`, "octal": `\033[0m`, "\\e": `\e[0m`,
	} {
		for width := 1; width < 12; width++ {
			text := wrap(key, width, noise)
			for _, in := range []string{text, "x " + text + " y", text + "\n" + text} {
				got := s.Redact(in)
				if strings.Count(got, hide) != strings.Count(in+"\n"+text, text)-1 || len(strings.ReplaceAll(got, hide, "")) > 5 {
					t.Errorf("%s every %d: %q became %q", name, width, in, got)
				}
			}
		}
	}
	if text := wrap(key, 5, strings.Repeat("\n", maxGap+1)); s.Redact(text) != text {
		t.Error("a gap has no bound")
	}
	for _, text := range []string{key[:7] + "\nnext line", "\x1b[31mred\x1b[0m", "s\x00k\x00", "73 6b 2d", "00000000: 736b 2d61  sk-a\n"} {
		if got := s.Redact(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	attack.Held(t, "T19", 1)
}

// Values that are not ASCII in UTF-16, and in hexadecimal digits.
func TestRedactWide(t *testing.T) {
	s := set("KEY", odd)
	var little, big strings.Builder
	for _, unit := range utf16.Encode([]rune(odd)) {
		little.WriteString(string([]byte{byte(unit), byte(unit >> 8)}))
		big.WriteString(string([]byte{byte(unit >> 8), byte(unit)}))
	}
	for name, text := range map[string]string{
		"little": little.String(), "big": big.String(), "digits": hexa.EncodeToString([]byte(odd)), "capitals": fmt.Sprintf("%X", odd),
		"colons": strings.ReplaceAll(fmt.Sprintf("% x", odd), " ", ":"), "Go": fmt.Sprintf("%# x", odd),
		"base64, indented": wrap(base64.StdEncoding.EncodeToString([]byte(odd)), 9, "\r\n  "),
	} {
		if got := s.Redact("x" + text + "x"); !strings.Contains(got, hide) || strings.Contains(got, text[len(text)/3:len(text)/2]) {
			t.Errorf("%s: %q", name, got)
		}
	}
	attack.Held(t, "T19", 1)
}

// A secret in a dump is hidden for any place, width and grouping.
func FuzzRedactDump(f *testing.F) {
	f.Add(key, "before", 16, 2, "after\n")
	f.Add("12345678", "", 3, 1, "0000000  s k\n")
	f.Add(odd, "0000000: 00", 7, 4, "*\n")
	f.Fuzz(func(t *testing.T, secret, before string, width, group int, after string) {
		secret = strings.TrimSpace(secret)
		if len(secret) < minLength || len(secret) > 1000 || strings.ContainsAny(secret, "[]") || strings.Contains(hide, secret) || len(before) > 1000 {
			return
		}
		width, group = 1+(width&31), 1+(group&7)
		data := []byte(before + secret + "\n")
		var text strings.Builder
		for at := 0; at < len(data); at += width {
			fmt.Fprintf(&text, "%08x:", at)
			for i, b := range data[at:min(at+width, len(data))] {
				if i%group == 0 {
					text.WriteByte(' ')
				}
				fmt.Fprintf(&text, "%02x", b)
			}
			text.WriteString("\n")
		}
		s := set("KEY", secret)
		got := s.Redact(text.String() + after)
		if !strings.Contains(got, hide) {
			t.Fatalf("%q is left in\n%s", secret, got)
		}
		if again := s.Redact(got); again != got {
			t.Fatalf("%q, again %q", got, again)
		}
	})
}
