package oci

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChallenges(t *testing.T) {
	one := func(scheme string, parameters ...string) challenge {
		c := challenge{scheme, map[string]string{}}
		for pair := range slices.Chunk(parameters, 2) {
			c.parameters[pair[0]] = pair[1]
		}
		return c
	}
	for _, test := range []struct {
		name   string
		values []string
		want   []challenge
	}{
		{"none", nil, nil},
		{"empty", []string{"", " , ,"}, nil},
		{"scheme alone", []string{"Basic"}, []challenge{one("basic")}},
		{"quoted", []string{`Bearer realm="https://auth.example/token",service="x",scope="repository:a/b:pull,push"`},
			[]challenge{one("bearer", "realm", "https://auth.example/token", "service", "x", "scope", "repository:a/b:pull,push")}},
		{"spaces, capitals, escapes and words", []string{"bEARER  Realm = \"a\\\"b\\\\c\" ,\tservice=x-1 , "}, []challenge{one("bearer", "realm", `a"b\c`, "service", "x-1")}},
		{"several in one value", []string{`Basic realm="a, b", Bearer realm="c"`}, []challenge{one("basic", "realm", "a, b"), one("bearer", "realm", "c")}},
		{"several values", []string{"Negotiate", `Bearer realm="c"`}, []challenge{one("negotiate"), one("bearer", "realm", "c")}},
		{"base64 in place of parameters", []string{`Negotiate YWJj==, Basic realm=x`}, []challenge{one("negotiate"), one("basic", "realm", "x")}},
		{"empty value", []string{`Basic realm=""`}, []challenge{one("basic", "realm", "")}},
		{"no value", []string{`Basic x=y, realm=`}, nil},
		{"mistake after a good one", []string{`Basic realm=x, Bearer realm="open`}, []challenge{one("basic", "realm", "x")}},
		{"text after a value", []string{`Bearer realm="x"y`}, nil},
		{"parameter twice", []string{`Bearer realm="x", REALM="y"`}, nil},
		{"scheme that is none", []string{`Bea/rer realm="x"`, `"Basic"`}, nil},
		{"too long", []string{`Bearer realm="` + strings.Repeat("x", maxChallenge) + `"`}, nil},
	} {
		if diff := cmp.Diff(test.want, parseChallenges(test.values), cmp.AllowUnexported(challenge{})); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
}

// write writes challenges as a server would.
func write(all []challenge) string {
	var parts []string
	for _, c := range all {
		var parameters []string
		for _, name := range slices.Sorted(maps.Keys(c.parameters)) {
			parameters = append(parameters, name+`="`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(c.parameters[name])+`"`)
		}
		parts = append(parts, strings.TrimSpace(c.scheme+" "+strings.Join(parameters, ",")))
	}
	return strings.Join(parts, ", ")
}

func FuzzChallenges(f *testing.F) {
	f.Add(`Bearer realm="https://auth.example/token",service="x",scope="repository:a/b:pull,push"`)
	f.Add(`Negotiate YWJj==, Basic realm = "a\"b", charset=utf-8`)
	f.Add(`a b c="d"`)
	f.Add("Basic, Basic realm")
	f.Fuzz(func(t *testing.T, text string) {
		all := parseChallenges([]string{text})
		for _, c := range all {
			if word, rest := cutToken(c.scheme); word == "" || rest != "" || c.scheme != strings.ToLower(c.scheme) {
				t.Errorf("the scheme %q", c.scheme)
			}
			for name := range c.parameters {
				if word, rest := cutToken(name); word == "" || rest != "" || name != strings.ToLower(name) {
					t.Errorf("the parameter %q", name)
				}
			}
		}
		written := write(all)
		if again := parseChallenges([]string{written}); len(written) <= maxChallenge && !cmp.Equal(all, again, cmp.AllowUnexported(challenge{})) {
			t.Errorf("%q became %q: %v, %v", text, written, all, again)
		}
	})
}
