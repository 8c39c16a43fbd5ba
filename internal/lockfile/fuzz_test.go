package lockfile

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// FuzzLock checks that no lockfile makes the reader panic, that each problem can be
// printed, and that what is accepted comes out again as it went in.
func FuzzLock(f *testing.F) {
	good := sampleLock(f).Encode()
	f.Add(good)
	f.Add(bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")))
	for _, s := range []string{
		"", "version='1'", "version='1'\ngeneratedAt=1\nconfigPath='a'", "version='1'\n[experts]\na=1", "version='1'\n[[experts]]",
		"version='1'\nexperts.a.toolDefinitions=[1]", "version='1'\nexperts.a.skills.b.package='x'",
		"version='1'\ngeneratedAt=1\nconfigPath='a'\n[[images]]\nname='a:1'\npinned='a@sha256:" + strings.Repeat("0", 64) + "'", "version='1'\nimages=[1]", "version='1'\nimages={}", "\xff", "version=\"\\uD800\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, problems := parseLock("p.lock", data)
		for _, p := range problems {
			if p.File != "p.lock" || p.Message == "" || p.Hint != InstallAgain || strings.ContainsAny(p.String(), "\n\r\x1b\u202e") {
				t.Errorf("bad problem %q", p.String())
			}
		}
		if (l == nil) != (len(problems) > 0) {
			t.Fatalf("lock %v with problems %v", l, problems)
		}
		if l == nil {
			return
		}
		text := l.Encode()
		again, problems := parseLock("p.lock", text)
		if len(problems) > 0 {
			t.Fatalf("what was written cannot be read: %v\n%s", problems, text)
		}
		if !bytes.Equal(again.Encode(), text) {
			t.Errorf("written\n%s\nread and written\n%s", text, again.Encode())
		}
	})
}

// A lockfile of some megabytes takes little time, whatever its shape. The limit
// of this test is generous: what it finds is squares, which take minutes.
func TestHostileLocksAreCheap(t *testing.T) {
	const head = "version='1'\ngeneratedAt=1\nconfigPath='a'\n"
	const expert = "[experts.x]\nkey='x'\n[experts.x.skills.s]\ndigest=''\n"
	fill := func(item string) string { return strings.Repeat(item, maxLock/8/len(item)) }
	for name, text := range map[string]string{
		"empty tools":  head + expert + fill("[[experts.x.toolDefinitions]]\n"),
		"same tool":    head + expert + fill("[[experts.x.toolDefinitions]]\nskillName='s'\nname='a'\n"),
		"keys":         head + numbered(100_000, "a#=1\n"),
		"experts":      head + numbered(100_000, "[experts.x#]\n"),
		"nested":       head + "a=" + fill("["),
		"nested JSON":  head + expert + "[[experts.x.toolDefinitions]]\nname='a'\nskillName='s'\ndigest='" + strings.Repeat("0", 64) + "'\ndefinition='" + fill("[") + "'",
		"array":        head + "[experts.x]\ndelegates=[" + fill("'a',") + "]",
		"string":       head + "x='" + fill("é") + "'",
		"array tables": head + fill("[[a]]\n"),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			if testing.Short() {
				text = text[:len(text)/8]
			}
			_, problems := parseLock("p.lock", []byte(text))
			if d := time.Since(start); d > time.Minute {
				t.Errorf("%d bytes with %d problems took %v", len(text), len(problems), d)
			} else {
				t.Logf("%d bytes, %d problems, %v", len(text), len(problems), d)
			}
		})
	}
}
