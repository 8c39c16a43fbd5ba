package expert

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseKey(t *testing.T) {
	good := map[string]Key{
		"a":                      {Name: "a"},
		"a.b_c-d":                {Name: "a.b_c-d"},
		"@o/a@1.0.0":             {Name: "@o/a", Version: "1.0.0"},
		"a@1.0.0-rc.1+b":         {Name: "a", Version: "1.0.0-rc.1+b"},
		"a@latest":               {Name: "a", Tag: "latest"},
		"a@1.0":                  {Name: "a", Tag: "1.0"},
		"a@01.0.0":               {Name: "a", Tag: "01.0.0"},
		strings.Repeat("a", 255): {Name: strings.Repeat("a", 255)},
	}
	for in, want := range good {
		got, err := ParseKey(in)
		if err != nil || got != want {
			t.Errorf("ParseKey(%q) = %+v, %v; want %+v", in, got, err, want)
		}
		if got.String() != in {
			t.Errorf("ParseKey(%q).String() = %q", in, got.String())
		}
	}
	const hint = "write name, @scope/name, name@1.0.0 or name@tag in lower case"
	bad := map[string]string{
		"":             `invalid expert key format: ""; ` + hint,
		"A":            `invalid expert key format: "A"; ` + hint,
		"a b":          `invalid expert key format: "a b"; ` + hint,
		"a\n":          `invalid expert key format: "a\n"; ` + hint,
		"@o/a@1.2.3@x": `invalid expert key format: "@o/a@1.2.3@x"; ` + hint,
		"@o":           `invalid expert key format: "@o"; ` + hint,
		"../a":         `invalid expert key format: "../a"; ` + hint,
		strings.Repeat("a", 256): `invalid expert key format: "` + strings.Repeat("a", 60) + `…"; ` +
			"a name has at most 255 characters",
		strings.Repeat("a", 512): `invalid expert key format: "` + strings.Repeat("a", 60) + `…"; ` +
			"a key has at most 511 characters",
		"a@" + strings.Repeat("b", 256): `invalid expert key format: "a@` + strings.Repeat("b", 58) + `…"; ` +
			"a version or tag has at most 255 characters",
	}
	for in, want := range bad {
		_, err := ParseKey(in)
		if err == nil {
			t.Errorf("ParseKey(%q) has no error", in)
			continue
		}
		if d := cmp.Diff(want, err.Error()); d != "" {
			t.Errorf("ParseKey(%q) (-want +got)\n%s", in, d)
		}
	}
}

func TestNamesAndVersions(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "@o/a": true, "a_b-c": true, "a.b": false, "a@1.0.0": false, "": false, "-a": false, "@o/": false, "A": false,
	} {
		if ValidName(s) != want {
			t.Errorf("ValidName(%q) = %v", s, !want)
		}
	}
	for s, want := range map[string]bool{
		"1.0.0": true, "0.0.0-a_b": true, "1.0.0+x": true, "1.0": false, "01.0.0": false, "v1.0.0": false, "1.0.0-": false, "": false, "1.0.0\n": false,
	} {
		if ValidVersion(s) != want {
			t.Errorf("ValidVersion(%q) = %v", s, !want)
		}
	}
}

// FuzzParseKey checks the parser against the grammar as the specification
// writes it down, and that what was read can be written again.
func FuzzParseKey(f *testing.F) {
	const version = `(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[\w.-]+)?(?:\+[\w.-]+)?`
	spec := regexp.MustCompile(`^((?:@[a-z0-9][a-z0-9_.-]*/)?[a-z0-9][a-z0-9_.-]*)(?:@(` + version + `)|@([a-z0-9][a-z0-9_.-]*))?$`)
	for _, s := range []string{"a", "@o/a@1.0.0", "a@1.0.0-rc.1+b", "a@latest", "a@1.0", "A", "@o/a@1.2.3@x", "@o", "a@", "a@1.0.0\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k, err := ParseKey(s)
		m := spec.FindStringSubmatch(s)
		long := len(s) > 511 || m != nil && (len(m[1]) > 255 || len(m[2])+len(m[3]) > 255)
		if (err == nil) != (m != nil && !long) {
			t.Fatalf("ParseKey(%q) says %v, the grammar %q", s, err, m)
		}
		if err != nil {
			return
		}
		if k.Name != m[1] || k.Version != m[2] || k.Tag != m[3] {
			t.Fatalf("ParseKey(%q) = %+v, want %q", s, k, m)
		}
		if again, err := ParseKey(k.String()); err != nil || again != k || k.String() != s {
			t.Fatalf("%q does not survive the round trip: %+v, %v", s, again, err)
		}
		if k.Version != "" && !ValidVersion(k.Version) {
			t.Fatalf("version %q of %q is not valid", k.Version, s)
		}
	})
}

// Two delegates never have one tool, unless they are the same Expert.
func TestDelegateTools(t *testing.T) {
	for _, c := range []struct{ keys, want []string }{
		{[]string{"@a/researcher@1.0.0", "writer"}, []string{"researcher", "writer"}},
		{[]string{"@a/researcher", "@b/researcher@2.0.0"}, []string{"researcher", "b_researcher"}},
		{[]string{"@a/researcher", "@b/researcher", "researcher"}, []string{"a_researcher", "b_researcher", "researcher"}},
		{[]string{"@a/x", "@b/x", "b_x"}, []string{"x", "b_x_2", "b_x"}},
		{[]string{"@a/x", "@a/x@1.0.0"}, []string{"x", "x"}},
		{[]string{"x", "oci://registry.example/acme/x", "@acme/x"}, []string{"x", "acme_x", "acme_x_2"}},
		{[]string{"Bad Key", "x"}, []string{"", "x"}},
	} {
		if d := cmp.Diff(c.want, DelegateTools(c.keys)); d != "" {
			t.Errorf("%q: (-want +got)\n%s", c.keys, d)
		}
	}
}
