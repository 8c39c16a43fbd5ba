package file

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit"
	"github.com/perstack-go/perstack/store"
)

// block returns the code block of a language in docs/journal.md.
func block(t *testing.T, language string) string {
	t.Helper()
	doc := string(readFile(t, "../../docs/journal.md"))
	_, rest, ok := strings.Cut(doc, "\n```"+language+"\n")
	text, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("docs/journal.md has no %s block", language)
	}
	return text
}

const exampleID = "t4q8x1n6b0z5k2m9r7c3w1ya"

// example makes a storage of the journal in the documentation.
func example(t *testing.T) (*Store, string) {
	t.Helper()
	s := New(filepath.Join(t.TempDir(), "perstack"), nil)
	dir := filepath.Join(s.dir, jobsName, exampleID)
	writeFile(t, filepath.Join(dir, journalName), []byte(block(t, "jsonl")))
	return s, dir
}

// exampleSealer has the key that the page names.
var exampleSealer = store.NewSealer("errands-9c3b0f6d2a417e85", store.SealKey([]byte("an example that is not a secret!")))

// The example is a journal: it verifies, it is what this version would write, and
// the summary shown is its summary.
func TestDocumentedJournal(t *testing.T) {
	s, dir := example(t)
	writeFile(t, filepath.Join(dir, headName), []byte(block(t, "head")))
	report, err := store.VerifySeals(t.Context(), s, exampleID, exampleSealer)
	if err != nil || report.Records != 11 || report.Unknown != 0 || report.Sealed != 11 || report.Recorded != report.Last {
		t.Fatalf("%+v, %v", report, err)
	}
	chain := store.Chain{JobID: exampleID, Sealer: exampleSealer}
	for r, err := range s.Read(t.Context(), exampleID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if again, err := chain.Next(r.Event); err != nil || string(again.Line) != string(r.Line) {
			t.Errorf("this version would write (%v)\n%s", err, again.Line)
		}
		if err := chain.Accept(r); err != nil {
			t.Fatal(err)
		}
	}
	j, err := s.WithSeal(exampleSealer).Open(t.Context(), exampleID)
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, j)
	if got, want := string(readFile(t, filepath.Join(dir, summaryName))), block(t, "json"); got != want {
		t.Errorf("job.json is\n%s\nand the documentation says\n%s", got, want)
	}
}

// The check with standard tools finds what ours finds.
func TestDocumentedCheck(t *testing.T) {
	testkit.Need(t, "bash", "sha256sum", "cut")
	_, dir := example(t)
	run := func() string {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", block(t, "sh"))
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		return strings.TrimSpace(string(out))
	}
	if got := run(); !strings.HasPrefix(got, "11 records, head ") || !strings.Contains(block(t, "json"), strings.TrimPrefix(got, "11 records, head ")) {
		t.Errorf("it says %q", got)
	}
	name := filepath.Join(dir, journalName)
	writeFile(t, name, []byte(strings.Replace(string(readFile(t, name)), "Buy bread", "Buy cream", 1)))
	if got := run(); got != "record 7 does not follow from record 6" {
		t.Errorf("it says %q", got)
	}
}

// Every event type that is kept has its line in the table.
func TestDocumentedTypes(t *testing.T) {
	source := string(readFile(t, "../../event/kinds.go"))
	kept := regexp.MustCompile(`kindOf\[\w+\]\("(\w+)", (?:state|record|kept)Audience,`).FindAllStringSubmatch(source, -1)
	if len(kept) < 20 {
		t.Fatalf("only %d kept types found in event/kinds.go", len(kept))
	}
	doc := string(readFile(t, "../../docs/journal.md"))
	for _, m := range kept {
		if !strings.Contains(doc, "\n| `"+m[1]+"` |") {
			t.Errorf("docs/journal.md does not describe %s", m[1])
		}
	}
}
