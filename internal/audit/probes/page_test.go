package probes

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/audit"
	"github.com/perstack-go/perstack/internal/testkit"
)

// The table of SECURITY.md is between these lines.
const (
	tableBegin = "<!-- written by go test ./internal/audit/probes -update -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

// SECURITY.md has the table of this package: every promise with its probe, or why it has none, and
// its test. internal/rules checks that the tests exist.
func TestSecurityPage(t *testing.T) {
	path := filepath.Join("..", "..", "..", "SECURITY.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	before, rest, found := strings.Cut(page, tableBegin)
	table, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatal("SECURITY.md has no table of probes")
	}
	promises := Promises(&Machine{})
	want := "| id | probe of `perstack audit` | tests |\n|---|---|---|\n"
	for _, p := range promises {
		probe, test := p.WhyNot, "none yet"
		if p.Probe != nil {
			probe = "`" + probeName(p) + "`"
		}
		if p.Test != "" {
			test = "`" + strings.ReplaceAll(p.Test, ", ", "`, `") + "`"
		}
		want += fmt.Sprintf("| %s | %s | %s |\n", p.ID, probe, test)
	}
	if *testkit.Update {
		if err := os.WriteFile(path, []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != want {
		t.Error("the table of SECURITY.md is not that of this package; go test -update writes it")
	}

	// Every id that the page uses is a promise of the table.
	ids := regexp.MustCompile(`^\|([^|]*)\|`)
	one := regexp.MustCompile(`\b[NKEXFSRGATLW]\d{1,2}\b`)
	seen := 0
	for line := range strings.Lines(before + after) {
		first := ids.FindStringSubmatch(line)
		if first == nil {
			continue
		}
		own, _, _ := strings.Cut(first[1], "finding")
		for _, id := range one.FindAllString(own, -1) {
			seen++
			if !slices.ContainsFunc(promises, func(p audit.Promise) bool { return p.ID == id }) {
				t.Errorf("SECURITY.md has the promise %s, which the audit does not know", id)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d ids were found", seen)
	}
}

// probeName is the method that attacks a promise.
func probeName(p audit.Promise) string {
	name := runtime.FuncForPC(reflect.ValueOf(p.Probe).Pointer()).Name()
	return strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "-fm")
}

func TestPromises(t *testing.T) {
	seen := map[string]bool{}
	names := map[string]string{}
	for _, p := range Promises(&Machine{}) {
		if seen[p.ID] {
			t.Errorf("%s is there twice", p.ID)
		}
		seen[p.ID] = true
		if p.Text == "" || p.Area == "" || p.Severity == "" {
			t.Errorf("%s is not complete: %+v", p.ID, p)
		}
		if (p.Probe == nil) == (p.WhyNot == "") {
			t.Errorf("%s has neither a probe nor a reason, or both", p.ID)
		}
		if p.Probe != nil && p.Test == "" {
			t.Errorf("%s has a probe and no test", p.ID)
		}
		if p.Probe != nil {
			if other := names[probeName(p)]; other != "" {
				t.Errorf("%s and %s have one probe", p.ID, other)
			}
			names[probeName(p)] = p.ID
		}
	}
	for letter, n := range map[string]int{"N": 10, "K": 8, "E": 6, "X": 3, "F": 3, "S": 6, "R": 4, "G": 3, "A": 1, "T": 1, "L": 1, "W": 9} {
		for i := 1; i <= n; i++ {
			if id := fmt.Sprint(letter, i); !seen[id] {
				t.Errorf("there is no %s", id)
			}
		}
	}
}
