package expert

import (
	"regexp"
	"strings"
	"testing"
)

const someDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParseOCI(t *testing.T) {
	for text, want := range map[string]OCI{
		"oci://registry.example/acme/reader":                         {"registry.example", "acme/reader", "", ""},
		"oci://registry.example/acme/reader:1.0.0":                   {"registry.example", "acme/reader", "1.0.0", ""},
		"oci://registry.example/acme/reader:Latest_1":                {"registry.example", "acme/reader", "Latest_1", ""},
		"oci://127.0.0.1:5000/reader@" + someDigest:                  {"127.0.0.1:5000", "reader", "", someDigest},
		"oci://localhost:5000/a.b_c__d---e/f:1.0.0-rc@" + someDigest: {"localhost:5000", "a.b_c__d---e/f", "1.0.0-rc", someDigest},
	} {
		got, err := ParseOCI(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if got.String() != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
	for _, text := range []string{
		"", "oci://", "oci:///a", "oci://host", "oci://host/", "oci://Host/a", "oci://host/A", "oci://host/a:", "oci://host/a@", "oci://host/a:b:c",
		"oci://host/a@latest", "oci://host/a@sha256:0", "oci://host/a@" + someDigest + "0", "oci://host/a@sha512:" + someDigest[7:], "oci://host/a@" + strings.ToUpper(someDigest),
		"oci://host:0/a", "oci://host:65536/a", "oci://host:080/a", "oci://host:/a", "oci://host:x/a", "oci://user@host/a", "oci://user:pw@host/a", "oci://-h/a", "oci://h-/a", "oci://h..x/a", "oci://h./a",
		"oci://host//a", "oci://host/a/", "oci://host/../a", "oci://host/a/./b", "oci://host/a._b", "oci://host/a___b", "oci://host/-a", "oci://host/a-",
		"oci://host/a?x=y", "oci://host/a#x", "oci://host/a%2f", "oci://host/a b", "oci://host/a\n", "OCI://host/a", "https://host/a", "oci://höst/a", "oci://[::1]/a",
		"oci://host/a:.b", "oci://host/a:-b", "oci://host/" + strings.Repeat("a", 300), "oci://host/a:" + strings.Repeat("a", 129), "oci://" + strings.Repeat("a.", 130) + "a/a",
		"oci://host/" + strings.Repeat("a/", 300) + "a",
	} {
		if r, err := ParseOCI(text); err == nil {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
}

func TestParseReference(t *testing.T) {
	for text, want := range map[string]Key{
		"reader":                              {Name: "reader"},
		"@acme/reader@1.0.0":                  {Name: "@acme/reader", Version: "1.0.0"},
		"oci://host/acme/reader":              {Name: "oci://host/acme/reader"},
		"oci://host/acme/reader:1.0":          {Name: "oci://host/acme/reader", Tag: "1.0"},
		"oci://host/reader@" + someDigest:     {Name: "oci://host/reader", Version: someDigest},
		"oci://host/reader:x@" + someDigest:   {Name: "oci://host/reader", Version: someDigest},
		"oci://host:5000/a/b:x@" + someDigest: {Name: "oci://host:5000/a/b", Version: someDigest},
	} {
		got, err := ParseReference(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if again, err := ParseReference(got.String()); err != nil || again != got {
			t.Errorf("%s is written as %s: %v", text, got, err)
		}
		if IsOCI(text) {
			if _, err := ParseKey(text); err == nil {
				t.Errorf("%s is a key", text)
			}
		}
	}
	if tool := (Key{Name: "oci://host/acme/reader"}).ToolName(); tool != "reader" {
		t.Errorf("the tool is called %s", tool)
	}
	// Experts of container registries are found by their exact keys, as all others are.
	e := &Expert{Key: "oci://host/reader@" + someDigest, Name: "oci://host/reader", Version: someDigest}
	if found, ok := Lookup([]*Expert{e}, e.Key); !ok || found != e || NewIndex([]*Expert{e})[e.Key] != e {
		t.Error("it is not found")
	}
	if _, err := ParseReference("oci://host"); err == nil {
		t.Error("a reference without a repository is read")
	}
}

var ociPattern, referencePattern = regexp.MustCompile(OCIPattern), regexp.MustCompile(ReferencePattern)

// compareOCI compares the function with the pattern that the JSON Schema states.
func compareOCI(t *testing.T, s string) {
	t.Helper()
	var want OCI
	m := ociPattern.FindStringSubmatch(s)
	if m != nil {
		want = OCI{m[1], m[2], m[3], m[4]}
	}
	got, ok := cutOCI(s)
	if !ok {
		got = OCI{}
	}
	if got != want || ok != (m != nil) {
		t.Errorf("%q: %+v, want %+v", s, got, want)
	}
	if _, key := cutKey(s); referencePattern.MatchString(s) != (ok || key) {
		t.Errorf("%q: the pattern of references says something else", s)
	}
	if r, err := ParseOCI(s); err == nil && r.String() != s {
		t.Errorf("%q is written as %q", s, r)
	}
}

// All texts of four pieces after the beginning of a reference.
func TestOCIGrammar(t *testing.T) {
	pieces := []string{"@", "/", ".", "-", ":", "_", "0", "1", "a", "A", "é", "\n", "@" + someDigest}
	var grow func(s string, more int)
	grow = func(s string, more int) {
		compareOCI(t, s)
		if more == 0 || t.Failed() {
			return
		}
		for _, piece := range pieces {
			grow(s+piece, more-1)
		}
	}
	for _, start := range []string{"", "oci://", "oci://h", "oci://h/a", "oci://h:1/a/b:c"} {
		grow(start, 4)
	}
}

func FuzzParseOCI(f *testing.F) {
	for _, s := range []string{"oci://h/a", "oci://h:5000/a/b:c@" + someDigest, "oci://h.x/a__b-c.d", "@a/b", ""} {
		f.Add(s)
	}
	f.Fuzz(compareOCI)
}
