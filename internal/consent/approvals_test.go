package consent_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/consent"
	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/job"
)

func parse(t *testing.T, text string) *manifest.Config {
	t.Helper()
	c, problems := manifest.Parse("perstack.toml", []byte(text))
	if c == nil {
		t.Fatal(problems)
	}
	return c
}

// What makes a job less strict, or its changes harder to undo, is asked about. The rest is not.
func TestApprovalRequests(t *testing.T) {
	stored := func(mode job.SnapshotMode) job.Snapshots { return job.Snapshots{Mode: mode} }
	for name, c := range map[string]struct {
		text     string
		user     job.Snapshots
		recorded job.Snapshots
		want     []string
	}{
		"stricter": {text: "approvals = 'read-only'\napprovalTimeout = '1h'\n[[rules]]\ntool = '*'\ndo = 'deny'\n[[rules]]\nskill = 'web'\ndo = 'ask'\n[snapshots]\nmode = 'required'"},
		"allow": {text: "[[rules]]\ntool = '*'\ndo = 'allow'\n[[rules]]\nskill = 'web'\ndo = 'ask'\n[[rules]]\nexpert = 'dev'\ncommand = ['git', 'commit', '-m', 'a b', '**']\nenv = ['GIT_DIR']\nargs = {'/x' = 'y'}\ndo = 'allow'", want: []string{
			"approvals 1: tool calls are allowed without a question: tool *",
			`approvals 7: tool calls are allowed without a question: expert dev, command git commit -m "a b" **, with the variables GIT_DIR, argument /x y`,
		}},
		"off":                    {text: "[snapshots]\nmode = 'off'\nexclude = ['a']\nmaxEntries = 1", want: []string{"snapshots 2: changes in the workspace are not stored, and cannot be undone"}},
		"off by the user":        {text: "[snapshots]\nmode = 'off'", user: stored(job.SnapshotsOff)},
		"required by the user":   {text: "[snapshots]\nmode = 'off'", user: stored(job.SnapshotsRequired)},
		"required by the record": {text: "[snapshots]\nmode = 'off'", recorded: stored(job.SnapshotsRequired)},
		"less": {text: "[snapshots]\nexclude = ['a b', '**/*.log']\nmaxFileBytes = '1MiB'\nmaxSnapshotBytes = '2MiB'\nmaxEntries = 5\nmaxStoreBytes = '1GiB'", want: []string{
			`snapshots 2: changes of "**/*.log" are not stored, and cannot be undone`,
			`snapshots 2: changes of "a b" are not stored, and cannot be undone`,
			"snapshots 3: maxFileBytes of snapshots is 1MiB, instead of 64MiB: more changes cannot be undone",
			"snapshots 4: maxSnapshotBytes of snapshots is 2MiB, instead of 512MiB: more changes cannot be undone",
			"snapshots 5: maxEntries of snapshots is 5, instead of 200000: more changes cannot be undone",
			"snapshots 6: maxStoreBytes of snapshots is 1GiB, instead of 5GiB: more changes cannot be undone",
		}},
		"more":                   {text: "[snapshots]\nmaxStoreBytes = '6GiB'", want: []string{"limits 2: maxStoreBytes of snapshots is 6GiB, instead of 5GiB"}},
		"more, as the user says": {text: "[snapshots]\nmaxStoreBytes = '6GiB'", user: job.Snapshots{MaxStoreBytes: 6 << 30}},
		"less than the user":     {text: "[snapshots]\nmaxStoreBytes = '5GiB'", user: job.Snapshots{MaxStoreBytes: 6 << 30}, want: []string{"snapshots 2: maxStoreBytes of snapshots is 5GiB, instead of 6GiB: more changes cannot be undone"}},
	} {
		config := parse(t, c.text)
		resolved := job.Resolve(job.Flags{User: job.Settings{Snapshots: c.user}}, config.Settings, job.Settings{Snapshots: c.recorded}, providers.Catalogue{})
		var got []string
		for _, r := range consent.List(consent.Project{Config: config, Resolved: resolved}) {
			got = append(got, fmt.Sprintf("%s %d: %s", r.Kind, r.Line, r.Text))
			if r.Explicit {
				t.Errorf("%s: --yes does not cover %s", name, r.Text)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// An answer is about what a rule allows: not about its place, its reason and its examples.
func TestDigestOfRule(t *testing.T) {
	digest := func(text string) string {
		config := parse(t, text)
		list := consent.List(consent.Project{Config: config, Resolved: job.Resolve(job.Flags{}, config.Settings, job.Settings{}, providers.Catalogue{})})
		if len(list) != 1 {
			t.Fatalf("%s: %v", text, list)
		}
		return list[0].Digest()
	}
	rule := "[[rules]]\ncommand = 'git status **'\ndo = 'allow'\n"
	for _, same := range []string{rule + "why = 'x'\nmatch = ['git status']", "[[rules]]\ntool = 'x'\ndo = 'deny'\n" + rule} {
		if digest(same) != digest(rule) {
			t.Errorf("asked again about %s", same)
		}
	}
	for _, other := range []string{"[[rules]]\ncommand = 'git push **'\ndo = 'allow'", rule + "env = ['A']", "[[rules]]\ncommand = 'git status'\ndo = 'allow'", "[[rules]]\ncommand = ['git', 'status **']\ndo = 'allow'"} {
		if digest(other) == digest(rule) {
			t.Errorf("not asked about %s", other)
		}
	}
}
