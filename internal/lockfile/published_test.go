package lockfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func publishedLock() *Lock {
	sum := strings.Repeat("a", 64)
	one := func(key, name string, delegates []string, p Published) *Expert {
		p.Registry, p.Digest, p.Capability = "https://r.example", "sha256:"+sum, sum
		return &Expert{Key: key, Name: name, Version: "1.0.0", Instruction: "x", Definition: sum, Delegates: delegates, Tags: []string{}, Published: &p}
	}
	return &Lock{ConfigPath: "perstack.toml", GeneratedAt: 1, Experts: []*Expert{
		one("@acme/a@1.0.0", "@acme/a", []string{"@acme/b@1.0.0"}, Published{LeafIndex: 7, Signer: "SHA256:x", Requested: []string{"@acme/a", "@acme/a@beta"}}),
		one("@acme/b@1.0.0", "@acme/b", []string{}, Published{Requested: []string{}}),
	}}
}

// What a registry proved is written and read again, and is found by the keys of the file.
func TestPublished(t *testing.T) {
	lock := publishedLock()
	text := string(lock.Encode())
	again, problems := parseLock("perstack.lock", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if d := cmp.Diff(lock.Experts, again.Experts); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	for key, want := range map[string]string{"@acme/a": "@acme/a@1.0.0", "@acme/a@beta": "@acme/a@1.0.0", "@acme/b@1.0.0": "@acme/b@1.0.0", "@acme/b": "", "@acme/a@2.0.0": ""} {
		got := ""
		if e, ok := again.Published(key); ok {
			got = e.Key
		}
		if got != want {
			t.Errorf("%s: %q", key, got)
		}
	}
	for _, broken := range []struct{ was, is string }{
		{"leafIndex = 7", "leafIndex = -1"}, {"leafIndex = 7\n", ""}, {`digest = "sha256:`, `digest = "md5:`}, {`capabilityHash = "a`, `capabilityHash = "g`},
		{`registry = "https://r.example"`, `registry = ""`}, {"leafIndex = 7", "leafIndex = 7\nother = 1"},
	} {
		if _, problems := parseLock("perstack.lock", []byte(strings.Replace(text, broken.was, broken.is, 1))); len(problems) == 0 {
			t.Errorf("%s is accepted", broken.is)
		}
	}
}

func TestDifferencesOfPublished(t *testing.T) {
	for _, c := range []struct {
		delegates string
		want      []string
	}{
		{`["@acme/a", "@acme/a@beta"]`, nil},
		{`["@acme/a"]`, []string{`the published Expert "@acme/a@1.0.0" is not needed any more`}},
		{`["@acme/c"]`, []string{`the published Expert "@acme/c" is new`, `the published Expert "@acme/a@1.0.0" is not needed any more`, `the published Expert "@acme/b@1.0.0" is not needed any more`}},
	} {
		lock := publishedLock()
		delegates := strings.Split(strings.Trim(c.delegates, "[]"), ", ")
		text := "[experts.lead]\ninstruction = 'x'\ndelegates = [" + delegates[0] + "]\n"
		if len(delegates) > 1 {
			text += "[experts.other]\ninstruction = 'x'\ndelegates = [" + delegates[1] + "]\n"
		}
		config := parseGood(t, text)
		for _, e := range config.Experts {
			lock.Experts = append(lock.Experts, NewExpert(e))
		}
		lock.ConfigPath = config.Name()
		var got []string
		for _, p := range lock.Differences(config) {
			got = append(got, p.Message)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.delegates, d)
		}
	}
}
