package egress

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/testkit/attack"
)

// One name in many spellings, and what is no name in any. Promise N4.
func TestParseHost(t *testing.T) {
	long := strings.Repeat("a", 63)
	for text, want := range map[string]string{
		"api.example.com": "api.example.com", "API.Example.COM": "api.example.com", "api.example.com.": "api.example.com",
		"localhost": "localhost", "a-b.c--d.x1": "a-b.c--d.x1", "1.2.3.4.com": "1.2.3.4.com", "0x7f.example": "0x7f.example",
		long + ".com": long + ".com", "xn-a.com": "xn-a.com", "4chan.org": "4chan.org",
		strings.Repeat("a.", 126) + "a":  strings.Repeat("a.", 126) + "a",
		strings.Repeat("a.", 126) + "a.": strings.Repeat("a.", 126) + "a",
	} {
		if got, err := ParseHost(text); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", ".", "..", "a..b", ".a", "a..", "a.b..", "-a.com", "a-.com", "a.-b.com", "a_b.com", "_dmarc.example.com",
		// addresses, as every kind of program writes them
		"127.0.0.1", "127.0.0.1.", "8.8.8.8", "127.1", "127.0.1", "2130706433", "0x7f000001", "0X7F000001", "0x7f.1", "0177.0.0.1", "017700000001", "0", "0x", "192.168.1",
		"1.2.3.4.5", "256.1.1.1", "example.0x7f", "example.1", "::1", "[::1]", "[::ffff:127.0.0.1]", "::ffff:7f00:1", "fe80::1%eth0", "[fe80::1%25eth0]", "2606:4700::1111", "1::",
		// what is no part of a name
		"user@example.com", "user:pw@example.com", "example.com:443", "example.com:", "example.com/", "//example.com", "https://example.com", "example.com?", "example.com#", `example.com\`,
		"example%2ecom", "%65xample.com", "exam ple.com", " example.com", "example.com ", "example.com\t", "example.com\r\n", "example.com\nHost: x", "example.com\x00", "example.com\x00.evil.com", "\x00",
		"*.example.com", "*", "example.*", "a,b.com", "example.com;", "(example.com)",
		// what looks like another name
		"xn--nxasmq5b.com", "api.XN--nxasmq5b.com", "xn--e1afmkfd.xn--p1ai", "Xn--a.com", "bücher.example", "exаmple.com", "１２７.0.0.1", "example。com", "example．com", "example\u212a.com", "ſ.com", "example.com\u200b", "\ufeffexample.com", "\xff.com",
		strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 127) + "a",
	} {
		if got, err := ParseHost(text); err == nil || got != "" {
			t.Errorf("%q: got %q, %v; want an error", text, got, err)
		}
	}
}

// Promise N4: wildcards allow what is below a name, and nothing that only looks so.
func TestAllowlist(t *testing.T) {
	list := func(patterns ...string) []string { return patterns }
	for _, test := range []struct {
		patterns []string
		yes, no  []string
	}{
		{nil, nil, list("example.com", "localhost", "a.b.c")},
		{list("example.com"), list("example.com"), list("a.example.com", "evilexample.com", "example.com.evil.com", "com", "xample.com")},
		{list("*.example.com"), list("a.example.com", "a.b.example.com"), list("example.com", "evilexample.com", "evil-example.com", "example.com.evil.com", "a.example.com.evil.com", "a.example.org", "com")},
		{list("*.Example.COM.", "EXAMPLE.com"), list("a.example.com", "example.com"), list("aexample.com")},
		{list("*.b.example.com", "*.example.com", "c.b.example.com"), list("a.b.example.com", "b.example.com", "c.b.example.com"), list("example.com")},
		{list("localhost", "*.local"), list("localhost", "a.local"), list("local", "a.localhost")},
	} {
		l, err := ParseAllowlist(test.patterns)
		if err != nil {
			t.Errorf("%q: %v", test.patterns, err)
		}
		for _, host := range test.yes {
			if !l.Allows(host) {
				t.Errorf("%q does not allow %s", test.patterns, host)
			}
		}
		for _, host := range test.no {
			if l.Allows(host) {
				t.Errorf("%q allows %s", test.patterns, host)
			}
		}
	}
	for _, pattern := range []string{
		"", "*", "*.", "**.example.com", "*.*.example.com", "api.*.example.com", "a*.example.com", "*example.com", "example.com:443", "https://example.com", "10.0.0.1", "*.0.0.1", "[::1]",
		"xn--nxasmq5b.com", "*.xn--nxasmq5b.com", "*.XN--p1ai", "bücher.de", "a_b.com", "a..b", "a b", "example.com\n",
		"*.com", "*.COM.", "*.co.uk", "*.github.io", "*.compute.amazonaws.com", "*.corp",
	} {
		if _, err := ParseAllowlist(list("example.com", pattern)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v", pattern, err)
		}
		attack.Held(t, "T20", 1)
	}
	if (Allowlist{}).Allows("example.com") {
		t.Error("no list at all allows something")
	}
}

// What perstack.toml accepts, the proxy does: a list that was valid yesterday must not
// keep it from starting.
func TestAllowlistTakesWhatTheFileTakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`(\*\.)?[a-zA-Z0-9]([a-zA-Z0-9-]{0,8}[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]{0,3}[a-zA-Z0-9])?){0,3}`).Draw(t, "pattern")
		_, err := manifest.Parse("perstack.toml", []byte("[experts.a]\ninstruction = \"x\"\n[experts.a.skills.s]\ntype = \"mcpStdioSkill\"\ncommand = \"c\"\nallowedDomains = [\""+pattern+"\"]\n"))
		if err != nil {
			return
		}
		if _, err := ParseAllowlist([]string{pattern}); err != nil && !lastPartBeginsWithDigit.MatchString(pattern) {
			t.Fatalf("%q is accepted in the file, and not here: %v", pattern, err)
		}
	})
}

// An endpoint that is let through before the start is a name that the proxy takes, and is
// public; every other one is refused before the start, and not by a proxy that does not
// start with it.
func TestRefusalAgreesWithTheProxy(t *testing.T) {
	agree := func(t interface{ Errorf(string, ...any) }, host string) {
		_, err := ParseHost(host)
		open := netaddr.ProxyRefusal("https://"+host+"/x", false) == ""
		if want := err == nil && netaddr.HostReach(host) == netaddr.Public; open != want {
			t.Errorf("%q: open before the start %t, want %t (the proxy says %v)", host, open, want, err)
		}
	}
	for _, host := range []string{
		"api.example.com", "API.Example.COM", "api.example.com.", "api.example.com..", "a_b.example.com", "_a.example.com", "xn--bcher-kva.example", "a.XN--p1ai", "a.xn-b.example",
		"-a.example.com", "a-.example.com", "a--b.example.com", "a.example.123", "a.example.1com", "a.example.0x1", "1.2.3.4.com", "8.8.8.8", "0x08080808", "134744072", "[2606:4700::1]",
		"a..example.com", ".example.com", "localhost", "intranet", "a.local", "a.internal", strings.Repeat("a", 63) + ".example", strings.Repeat("a", 64) + ".example",
		strings.Repeat("abcdefg.", 30) + "example.com", strings.Repeat("abcdefg.", 31) + "example", "b\u00fccher.example", "*.example.com", "a%20b.example",
	} {
		agree(t, host)
	}
	rapid.Check(t, func(t *rapid.T) {
		agree(t, rapid.StringMatching(`([a-zA-Z0-9_-]{1,6}|xn--[a-z]{1,3})(\.([a-zA-Z0-9_-]{0,4}|xn--[a-z]{1,3})){0,3}\.?`).Draw(t, "host"))
	})
}

// No such name exists in the DNS: top level names begin with a letter.
var lastPartBeginsWithDigit = regexp.MustCompile(`(^|\.)[0-9][^.]*$`)

// reference is another way to decide, written so that one can see that it is right.
func reference(patterns []string, text string) (string, bool) {
	name := strings.TrimSuffix(text, ".")
	if len(name) > 253 || !regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?\.)*[a-zA-Z]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$`).MatchString(name) {
		return "", false
	}
	name = strings.ToLower(name)
	if slices.ContainsFunc(strings.Split(name, "."), func(l string) bool { return strings.HasPrefix(l, "xn--") }) {
		return "", false
	}
	return name, slices.ContainsFunc(patterns, func(p string) bool {
		below, wild := strings.CutPrefix(p, "*")
		return wild && strings.HasSuffix(name, below) || name == p
	})
}

// decidedIsDialled holds for every text that a client can send: it is allowed when the
// reference says so, and then that very name is looked up, once, and the address of the
// answer is dialled; else nothing is looked up.
func decidedIsDialled(t testing.TB, patterns []string, text string) {
	t.Helper()
	allow, err := ParseAllowlist(patterns)
	if err != nil {
		t.Fatal(err)
	}
	name, allowed := reference(patterns, text)
	n := &network{names: map[string][][]string{name: {{"8.8.8.8"}, {"127.0.0.1"}}}}
	p := &Proxy{resolver: n, connect: n.connect, limits: usualLimits}
	d := compiledListener{allow: allow}
	host, no := d.admit(request{method: "CONNECT", target: text + ":443"})
	if (no == nil) != allowed || no == nil && host != name {
		t.Fatalf("%q: got %q, %v; the reference says %q, %v", text, host, no, name, allowed)
	}
	if no != nil {
		return
	}
	if again, err := ParseHost(host); err != nil || again != host {
		t.Fatalf("%q: %q is read again as %q, %v", text, host, again, err)
	}
	_, _, no = p.reach(t.Context(), host)
	if netaddr.HostReach(host) != netaddr.Public {
		if no == nil || no.reason != ReasonAddress || n.lookups() != 0 || n.dials() != nil {
			t.Fatalf("%q is private: %v", text, no)
		}
		return
	}
	if no == nil || no.reason != ReasonUnreached || !slices.Equal(n.asked, []string{name + "."}) || !slices.Equal(n.dials(), []string{"8.8.8.8:443"}) {
		t.Fatalf("%q: %v, asked for %q", text, no, n.asked)
	}
}

var somePatterns = []string{"api.example.com", "example.org", "*.wild.example.com", "*.x.net", "localhost"}

func FuzzParseHost(f *testing.F) {
	for _, text := range []string{"api.example.com", "API.EXAMPLE.COM.", "a.wild.example.com", "wild.example.com", "127.0.0.1", "x.net", "localhost", "xn--a.net", "a@x.net", "[::1]", "x.net\x00", "\u212a.net"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		decidedIsDialled(t, somePatterns, text)
	})
}

// The same for names that are nearly allowed.
func TestDecidedIsDialled(t *testing.T) {
	parts := []string{".", "..", "-", "%", "@", ":", "\x00", "\r\n", " ", "a", "xn--", "1", "\u212a", "\u3002", "evil.", "*.", "[", "]", "/"}
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SampledFrom([]string{"api.example.com", "example.org", "a.wild.example.com", "b.c.x.net", "localhost"}).Draw(rt, "name")
		for range rapid.IntRange(0, 3).Draw(rt, "changes") {
			at := rapid.IntRange(0, len(text)).Draw(rt, "at")
			switch rapid.IntRange(0, 3).Draw(rt, "kind") {
			case 0:
				text = text[:at] + rapid.SampledFrom(parts).Draw(rt, "part") + text[at:]
			case 1:
				text = text[:at] + strings.ToUpper(text[at:])
			case 2:
				text = text[at:]
			case 3:
				text = text[:at]
			}
		}
		decidedIsDialled(t, somePatterns, text)
	})
}
