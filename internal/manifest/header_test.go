package manifest

import (
	"strings"
	"testing"

	"github.com/perstack-go/perstack/expert"
)

func remoteWith(keys string) string {
	return skillWith("mcpHttpSkill", "endpoint = 'https://a.example'\n"+keys)
}

func TestHeaderProblems(t *testing.T) {
	const at = "experts.a.skills.s"
	for _, c := range []struct {
		keys string
		want []string
	}{
		{"headers = {}", nil},
		{"headers = {X-Team = 'blue', x_1 = '', Y = 'a\tb $5 $NAME {} $(x)'}", nil},
		{"requiredEnv = ['K']\nheaders = {Authorization = 'Bearer ${K}'}", nil},
		{"headers = {Authorization = 'Bearer ${K}'}\nrequiredEnv = ['K']", nil},
		{"headers = 1", []string{`p.toml:6:11: ` + at + `.headers: must be a table, not an integer`}},
		{"headers = {X = 1}", []string{`p.toml:6:16: ` + at + `.headers.X: must be a string, not an integer; put it in quotes`}},
		{"headers = {'' = 'x'}", []string{`p.toml:6:12: ` + at + `.headers."": is not a header name; use letters, digits and -`}},
		{"headers = {'A B' = 'x'}", []string{`p.toml:6:12: ` + at + `.headers."A B": is not a header name; use letters, digits and -`}},
		{"headers = {\"A\\r\\nB\" = 'x'}", []string{`p.toml:6:12: ` + at + `.headers."A\r\nB": is not a header name; use letters, digits and -`}},
		{"headers = {X = \"secret\\r\\nHost: evil\"}", []string{`p.toml:6:16: ` + at + `.headers.X: has a control character in its value; remove it`}},
		{"headers = {X = \"secret\\u0000\"}", []string{`p.toml:6:16: ` + at + `.headers.X: has a control character in its value; remove it`}},
		{"headers = {X = 'secret ${K}'}", []string{`p.toml:6:16: ` + at + `.headers.X: uses "K", which is not in requiredEnv; add it there`}},
		{"requiredEnv = ['K']\nheaders = {X = '${K}${PATH}'}", []string{`p.toml:7:16: ` + at + `.headers.X: uses "PATH", which is not in requiredEnv; add it there`}},
		{"headers = {X = 'secret ${'}", []string{`p.toml:6:16: ` + at + `.headers.X: has ${ without a variable name and }; write ${NAME}; nothing else is expanded`}},
		{"requiredEnv = ['K']\nheaders = {X = '${K:-secret}', Y='${K}'}", []string{`p.toml:7:16: ` + at + `.headers.X: has ${ without a variable name and }; write ${NAME}; nothing else is expanded`}},
		{"requiredEnv = ['K']\nheaders = {X = '${${K}}', Y='${K}'}", []string{`p.toml:7:16: ` + at + `.headers.X: has ${ without a variable name and }; write ${NAME}; nothing else is expanded`}},
		{"requiredEnv = ['K']", []string{`p.toml:6:16: warning: ` + at + `.requiredEnv.0: "K" is not used; write ${K} into a value of headers, or remove it`}},
		{"requiredEnv = ['ANTHROPIC_API_KEY']\nheaders = {X = '${ANTHROPIC_API_KEY}'}", []string{
			`p.toml:6:16: ` + at + `.requiredEnv.0: "ANTHROPIC_API_KEY" is the key of provider anthropic; skills cannot have it; give the skill a key of its own under another name`,
			`p.toml:7:16: ` + at + `.headers.X: uses "ANTHROPIC_API_KEY", which is not in requiredEnv; add it there`}},
		{"headers = {X-A = '1', x-a = '2'}", []string{`p.toml:6:23: ` + at + `.headers.x-a: is there already, in other letters; keep one of them`}},
		{"headers = {X = '" + strings.Repeat("a", 8193) + "'}", []string{`p.toml:6:16: ` + at + `.headers.X: has 8193 characters; at most 8192 are allowed`}},
		{"headers = {" + many(65, "H%d='1'") + "}", []string{`p.toml:6:1: ` + at + `.headers: has 65 headers; at most 64 are allowed`}},
	} {
		check(t, remoteWith(c.keys), c.want...)
		if _, ps := Parse("p.toml", []byte(remoteWith(c.keys))); strings.Contains(ps.Error(), "secret") {
			t.Errorf("%.200s: a value is shown: %v", c.keys, ps)
		}
	}
	for _, name := range []string{
		"Host", "HOST", "content-length", "Content-Type", "Transfer-Encoding", "Connection", "Keep-Alive", "Upgrade", "TE", "Trailer", "Cookie", "Set-Cookie",
		"Accept", "Accept-Encoding", "Mcp-Session-Id", "MCP-Protocol-Version", "Proxy-Authorization", "Last-Event-ID", "Expect",
	} {
		check(t, remoteWith("headers = {"+name+" = 'x'}"),
			`p.toml:6:12: `+at+`.headers.`+name+`: is a header that perstack sets itself; remove it`)
	}
	for _, name := range []string{"Authorization", "X-Host", "Hosted", "X-Api-Key", "Mcp", "User-Agent"} {
		check(t, remoteWith("headers = {"+name+" = 'x'}"))
	}
}

func TestResolvedHeaders(t *testing.T) {
	env := map[string]string{"KEY": "k3y", "B": "${KEY} $B", "LINES": "hidden\r\nHost: x", "ZERO": "hidden\x00", "DEL": "hidden\x7f", "OTHER": "hidden"}
	get := func(name string) string { return env[name] }
	declared := []string{"KEY", "B", "LINES", "ZERO", "DEL", "EMPTY"}
	for value, want := range map[string]string{
		"":                    "",
		"plain $KEY $(KEY)":   "plain $KEY $(KEY)",
		"Bearer ${KEY}":       "Bearer k3y",
		"${KEY}${KEY}":        "k3yk3y",
		"a ${B} b":            "a ${KEY} $B b", // what a variable holds is not expanded again
		"}{${KEY}}":           "}{k3y}",
		"${LINES}":            "!the value of LINES has a line break or another control character; remove it",
		"${ZERO}":             "!the value of ZERO has a line break or another control character; remove it",
		"${DEL}":              "!the value of DEL has a line break or another control character; remove it",
		"${EMPTY}":            "!EMPTY is not set (declared in requiredEnv); set it in the environment or in .env",
		"hidden\r\n":          "!has a control character in its value; remove it",
		"${OTHER}":            `!"OTHER" is not in requiredEnv`,
		"hidden ${KEY:-x} ${": `!"${" is not in requiredEnv`,
	} {
		s := &expert.Skill{Name: "s", RequiredEnv: declared, Headers: []expert.Header{{Name: "X-A", Value: value}}}
		got, err := s.ResolvedHeaders(get)
		if message, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || err.Error() != `skill "s": header X-A: `+message || got != nil || strings.Contains(err.Error(), "hidden") {
				t.Errorf("%q: %q, error %v, want %s", value, got, err, message)
			}
		} else if err != nil || got["X-A"] != want {
			t.Errorf("%q: %q, error %v, want %q", value, got, err, want)
		}
	}
	s := &expert.Skill{Name: "s", RequiredEnv: []string{"A", "B"}, Headers: []expert.Header{{Name: "One", Value: "${A}"}, {Name: "Two", Value: "${C}"}}}
	if _, err := s.ResolvedHeaders(get); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not all headers are reported: %v", err)
	}
	if got, err := (&expert.Skill{}).ResolvedHeaders(nil); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}
