package textdiff_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/textdiff"
)

// apply has git apply a difference to a file.
func apply(t testing.TB, dir, before, hunks string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "apply", "--whitespace=nowarn", "-")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	cmd.Stdin = strings.NewReader("diff --git a/f b/f\n--- a/f\n+++ b/f\n" + hunks)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, out, hunks)
	}
	after, err := os.ReadFile(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	return string(after)
}

// changed counts the lines that a difference removes or adds.
func changed(hunks string) (n int) {
	for line := range strings.Lines(hunks) {
		if line[0] == '-' || line[0] == '+' {
			n++
		}
	}
	return n
}

// Git is the oracle: it applies what we write, and its own difference is not shorter.
func TestGitAgrees(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	for i := range 150 {
		before := text(random, 1+random.IntN(60))
		after := mutate(random, before)
		hunks := textdiff.Hunks([]byte(before), []byte(after))
		if before == after {
			if hunks != "" {
				t.Fatalf("a difference between equal texts:\n%s", hunks)
			}
			continue
		}
		if got := apply(t, dir, before, hunks); got != after {
			t.Fatalf("round %d: got %q, want %q\n%s", i, got, after, hunks)
		}
		for name, content := range map[string]string{"before": before, "after": after} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command("git", "diff", "--no-index", "--minimal", "--no-color", "before", "after")
		cmd.Dir = dir
		out, _ := cmd.Output() // its status says that they differ
		_, theirs, _ := strings.Cut(string(out), "\n+++ b/after\n")
		if ours := changed(hunks); ours > changed(theirs) {
			t.Errorf("round %d: %d lines differ, and %d for git:\n%s\n%s", i, ours, changed(theirs), hunks, theirs)
		}
	}
}

func text(random *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "line %d\n", random.IntN(20))
	}
	return b.String()
}

func mutate(random *rand.Rand, text string) string {
	all := strings.SplitAfter(text, "\n")
	for range random.IntN(6) {
		i := random.IntN(len(all))
		switch random.IntN(3) {
		case 0:
			all[i] = fmt.Sprintf("new %d\n", random.IntN(9))
		case 1:
			all = append(all[:i:i], all[i+1:]...)
		case 2:
			all = append(all[:i:i], append([]string{fmt.Sprintf("line %d\n", random.IntN(20))}, all[i:]...)...)
		}
		if len(all) == 0 {
			return "x\n"
		}
	}
	joined := strings.Join(all, "")
	if random.IntN(4) == 0 {
		joined = strings.TrimSuffix(joined, "\n") + "x"
	}
	if joined == "" {
		return "x\n"
	}
	return joined
}

func TestHunks(t *testing.T) {
	for _, tt := range []struct{ before, after, want string }{
		{"", "", ""},
		{"a\n", "a\n", ""},
		{"", "a\n", "@@ -0,0 +1 @@\n+a\n"},
		{"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"},
	} {
		if got := textdiff.Hunks([]byte(tt.before), []byte(tt.after)); got != tt.want {
			t.Errorf("%q to %q:\n%s\nwant\n%s", tt.before, tt.after, got, tt.want)
		}
	}
}

// Texts that have nearly nothing in common are compared in a bounded time, and correctly.
func TestVeryDifferentTexts(t *testing.T) {
	var before, after strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&before, "old %d\n", i*7919%20_011)
		fmt.Fprintf(&after, "new %d\n", i)
		if i%50 == 0 {
			fmt.Fprintf(&before, "same %d\n", i)
			fmt.Fprintf(&after, "same %d\n", 20_000-i)
		}
	}
	hunks := textdiff.Hunks([]byte(before.String()), []byte(after.String()))
	if got := apply(t, t.TempDir(), before.String(), hunks); got != after.String() {
		t.Error("git makes another text of it")
	}
}

func FuzzHunks(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		hunks := textdiff.Hunks([]byte(before), []byte(after))
		if got := patch(t, before, hunks); got != after {
			t.Errorf("%q to %q gives %q\n%s", before, after, got, hunks)
		}
	})
}

// patch applies hunks, without git, which would be slow.
func patch(t *testing.T, before, hunks string) string {
	rest := strings.SplitAfter(before, "\n")
	var out strings.Builder
	done := 0
	last := ""
	for line := range strings.SplitAfterSeq(hunks, "\n") {
		switch {
		case line == "":
		case strings.HasPrefix(line, "@@ "):
			var from int
			if _, err := fmt.Sscanf(line, "@@ -%d", &from); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(strings.Fields(line)[1], ",0") {
				from++
			}
			for ; done < from-1; done++ {
				out.WriteString(rest[done])
			}
		case line[0] == '\\':
			if last != "-" {
				text := strings.TrimSuffix(out.String(), "\n")
				out.Reset()
				out.WriteString(text)
			}
		case line[0] == '+':
			out.WriteString(line[1:])
		case line[0] == ' ':
			out.WriteString(line[1:])
			done++
		case line[0] == '-':
			done++
		}
		if line != "" {
			last = line[:1]
		}
	}
	for ; done < len(rest); done++ {
		out.WriteString(rest[done])
	}
	return out.String()
}
