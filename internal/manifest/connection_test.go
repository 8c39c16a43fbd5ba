package manifest

import "testing"

func connectionOf(t *testing.T, text string) string {
	t.Helper()
	c, ps := Parse("p.toml", []byte(text))
	if ps.Err() != nil {
		t.Fatal(ps.Err(), text)
	}
	s, ok := c.Experts[0].Skill("s")
	if !ok {
		t.Fatal("no skill s")
	}
	return s.Connection()
}

// What says which tools there are gives another digest; the rest does not.
func TestConnection(t *testing.T) {
	stdio := func(keys string) string { return skillWith("mcpStdioSkill", keys) }
	const away = "endpoint = 'https://a.example'\n"
	seen := map[string]string{}
	for _, same := range [][]string{
		{
			stdio("command = 'npx'\npackageName = 'x@1.0.0'"),
			stdio("command = 'npx'\nargs = ['x@1.0.0']"),
			stdio("command = 'npx.cmd'\nargs = ['-y', '--', 'x@1.0.0']"),
			stdio("command = 'npx'\npackageName = 'x@1.0.0'\npick = ['a']\nomit = ['b']\nrule = 'r'\ndescription = 'd'\nlazyInit = true\ntoolPrefix = true\nstartTimeout = 5\ncallTimeout = 5\nallowedDomains = ['a.example']"),
		},
		{stdio("command = 'npx'\npackageName = 'x'")},
		{stdio("command = 'npx'\npackageName = 'x@latest'")},
		{stdio("command = 'npx'\npackageName = 'x@2.0.0'")},
		{stdio("command = 'npx'\npackageName = 'y'")},
		{stdio("command = 'uvx'\npackageName = 'x'")},
		{stdio("command = 'npx'\nargs = ['x', '--all']")},
		{stdio("command = 'npx'\nargs = ['-p', 'x', 'all']")},
		{
			stdio("command = 'npx'\npackageName = 'x'\nrequiredEnv = ['A', 'B']"),
			stdio("command = 'npx'\npackageName = 'x'\nrequiredEnv = ['B', 'A', 'B']"),
		},
		{stdio("command = 'npx'\npackageName = 'x'\nrequiredEnv = ['A']")},
		{stdio("command = 'x'")},
		{stdio("command = 'x'\npackageName = 'a'"), stdio("command = 'x'\nargs = ['a']")},
		{stdio("command = 'x'\nargs = ['a', 'b']")},
		{stdio("command = 'x'\nargs = ['b', 'a']")},
		{stdio("command = 'x'\nargs = ['a b']")},
		{skillWith("mcpHttpSkill", away), skillWith("mcpHttpSkill", away+"headers = {}\npick = ['a']")},
		{skillWith("mcpSseSkill", away)},
		{skillWith("mcpHttpSkill", "endpoint = 'https://b.example'")},
		{skillWith("mcpHttpSkill", away+"allowPrivateEndpoint = true")},
		{
			skillWith("mcpHttpSkill", away+"headers = {X = '1', Y = '2'}"),
			skillWith("mcpHttpSkill", away+"headers = {Y = '2', x = '1'}"),
		},
		{skillWith("mcpHttpSkill", away+"headers = {X = '1', Y = '3'}")},
		{skillWith("mcpHttpSkill", away+"headers = {X = '1'}")},
		{skillWith("mcpHttpSkill", away+"headers = {X = '${K}'}\nrequiredEnv = ['K']")},
	} {
		want := connectionOf(t, same[0])
		if before, ok := seen[want]; ok {
			t.Errorf("the same digest:\n%s\n\n%s", before, same[0])
		}
		seen[want] = same[0]
		for _, text := range same[1:] {
			if got := connectionOf(t, text); got != want || len(got) != 64 {
				t.Errorf("%s, %s:\n%s\n\n%s", want, got, same[0], text)
			}
		}
	}
}

// Lockfiles hold it.
func TestConnectionIsStable(t *testing.T) {
	const want = "1a072d41c53809b6db1d845239131337faecea8b1ae32fbb5c889fb787474df8"
	if got := connectionOf(t, skillWith("mcpStdioSkill", "command = 'npx'\nargs = ['-y', 'x@1.0.0', 'a']\nrequiredEnv = ['K']")); got != want {
		t.Errorf("the digest is %s, and was %s", got, want)
	}
}
