package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/testkit"
)

// A policy of level off names a row of the table, restricts nothing, and is the same on the other
// side. No other policy has that level.
func TestOff(t *testing.T) {
	seen := make(map[Exemption]bool)
	for _, r := range Exemptions() {
		text, err := Off(r.Exemption).Encode()
		if err != nil {
			t.Fatal(err)
		}
		p, err := Decode(text)
		if err != nil || p.Level != expert.SandboxOff || p.Exempt != r.Exemption || p.Restricts() {
			t.Errorf("%s became %+v, %v", text, p, err)
		}
		if seen[r.Exemption] || r.Programs == "" || r.Why == "" {
			t.Errorf("%+v is there twice, or does not say what it is for", r)
		}
		seen[r.Exemption] = true
	}
	for want, p := range map[string]Policy{
		`"" is not in the table`:      {Level: expert.SandboxOff},
		`"other" is not in the table`: *Off("other"),
		"cannot restrict a program":   {Level: expert.SandboxOff, Exempt: JobOff, Read: []string{"/usr"}},
		"cannot be exempt":            {Level: expert.SandboxLandlock, Exempt: JobOff},
	} {
		if _, err := p.Encode(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	for _, text := range []string{"", "{}", `{"level":"off"}`, `{"level":"off","exempt":"other"}`} {
		if p, err := Decode(text); err == nil {
			t.Errorf("%q is the policy %+v", text, p)
		}
	}
	var none *Policy
	if none.Restricts() || !(&Policy{Level: expert.SandboxLandlock}).Restricts() {
		t.Error("only a policy above level off restricts a program")
	}
}

// The table of docs/sandbox.md is between these lines.
const (
	tableBegin = "<!-- written by go test ./internal/sandbox/policy -update -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

func TestExemptionsPage(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "sandbox.md")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(data), tableBegin)
	table, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatal("docs/sandbox.md has no table of programs without a sandbox")
	}
	want := "| program | when and why |\n|---|---|\n"
	for _, r := range Exemptions() {
		want += fmt.Sprintf("| %s | %s |\n", r.Programs, r.Why)
	}
	if *testkit.Update {
		if err := os.WriteFile(path, []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if table != want {
		t.Error("the table of docs/sandbox.md is not that of this package; go test -update writes it")
	}
}
