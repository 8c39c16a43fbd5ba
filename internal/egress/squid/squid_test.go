package squid

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/netaddr"
	"github.com/perstack-go/perstack/internal/testkit"
)

func threeListeners() egress.ProxyConfig {
	return egress.ProxyConfig{Listeners: []egress.Listener{
		{Name: "engine", Address: "172.18.0.2:3128", Allow: []string{"API.example.com.", "*.example.com", "localhost"}},
		{Name: "skill", Address: "172.18.0.2:3129", Allow: []string{"other.example"}, Clients: []netip.Prefix{netip.MustParsePrefix("172.18.0.0/16")}},
		{Name: "shut", Address: "172.18.0.2:3130"},
	}}
}

// The whole configuration, as Squid gets it. The blocks of addresses are counted, not
// repeated: they are expert's.
func TestConfig(t *testing.T) {
	config := threeListeners()
	text, err := Config(config, []netip.Addr{netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("2001:db8::53")})
	if err != nil {
		t.Fatal(err)
	}
	again, _ := Config(config, []netip.Addr{netip.MustParseAddr("192.0.2.53"), netip.MustParseAddr("2001:db8::53")})
	if again != text {
		t.Error("the same listeners give another text")
	}
	var kept []string
	blocks := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "acl nowhere dst ") {
			blocks++
			continue
		}
		kept = append(kept, line)
	}
	if blocks != len(netaddr.NotPublic()) {
		t.Errorf("%d blocks are refused, and %d are not public", blocks, len(netaddr.NotPublic()))
	}
	testkit.Golden(t, "squid.conf.golden", strings.Join(kept, ""))
}

// What is allowed comes after everything that is refused, and the last word is no.
func TestOrder(t *testing.T) {
	text, err := Config(threeListeners(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "http_access ") {
			rules = append(rules, strings.TrimSpace(line))
		}
	}
	firstAllow := slices.IndexFunc(rules, func(r string) bool { return strings.HasPrefix(r, "http_access allow ") })
	for i, r := range rules[:len(rules)-1] {
		if deny := strings.HasPrefix(r, "http_access deny "); deny != (i < firstAllow) {
			t.Errorf("rule %d is %q", i, r)
		}
	}
	if rules[len(rules)-1] != "http_access deny all" || !slices.Contains(rules[:firstAllow], "http_access deny nowhere because_address") {
		t.Errorf("rules: %q", rules)
	}
	// A question to a name server is asked only for names that are on the list.
	asks := slices.Index(rules, "http_access deny nowhere because_address")
	for _, before := range []string{"http_access deny !connect because_method", "http_access deny !named because_host", "http_access deny listener0 !list0 because_domain", "http_access deny listener2 because_domain"} {
		if at := slices.Index(rules, before); at < 0 || at > asks {
			t.Errorf("%q is rule %d, and the look-up is in rule %d", before, at, asks)
		}
	}
}

func TestConfigRefuses(t *testing.T) {
	for want, change := range map[string]func(*egress.ProxyConfig){
		"has a token, and Squid asks for none": func(config *egress.ProxyConfig) { config.Listeners[0].Token = "kX82mQ0vT4nB7cLw9rJd" },
		"cannot use an upstream proxy":         func(config *egress.ProxyConfig) { config.Upstream = "http://proxy.example:3128" },
		"has no port":                          func(config *egress.ProxyConfig) { config.Listeners[0].Address = "127.0.0.1:0" },
		"has the port of another listener":     func(config *egress.ProxyConfig) { config.Listeners[1].Address = "127.0.0.1:3128" },
		"the policy has no listener":           func(config *egress.ProxyConfig) { config.Listeners = nil },
		"cannot be allowed": func(config *egress.ProxyConfig) {
			config.Listeners[0].Allow = []string{"a.example\nhttp_access allow all"}
		},
		"below a public suffix": func(config *egress.ProxyConfig) { config.Listeners[0].Allow = []string{"*.arpa"} },
		"squid opens 128 listeners at most": func(config *egress.ProxyConfig) {
			for i := range 128 {
				config.Listeners = append(config.Listeners, egress.Listener{Name: fmt.Sprint(i), Address: fmt.Sprintf("127.0.0.1:%d", 4000+i)})
			}
		},
	} {
		config := threeListeners()
		change(&config)
		if text, err := Config(config, nil); err == nil || text != "" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "kX82") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// directive is every line that there can be.
var directive = regexp.MustCompile(`^(http_port|acl|http_access|logformat|access_log|[a-z_]+) [ -~]+$`)

// Whatever is accepted as a list, it adds lines that compare names, and nothing else; and
// Squid's comparison means what ours does.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{"api.example.com", "*.example.com", "a.b\nhttp_access allow all", "a b", "#", `x\`, "xn--a.example", "*.*.example", "10.0.0.1", "A.EXAMPLE.", "*.localhost", "arpa", "*.home.arpa", strings.Repeat("a.", 126) + "b"} {
		f.Add(seed, "sub.example.com")
	}
	plain := egress.ProxyConfig{Listeners: []egress.Listener{{Name: "g", Address: "127.0.0.1:3128", Allow: []string{"one.example"}}}}
	without, err := Config(plain, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, pattern, asked string) {
		config := egress.ProxyConfig{Listeners: []egress.Listener{{Name: "g", Address: "127.0.0.1:3128", Allow: []string{"one.example", pattern}}}}
		text, err := Config(config, nil)
		if err != nil {
			return
		}
		var added []string
		known := strings.Split(without, "\n")
		for _, line := range strings.Split(text, "\n") {
			if line == "" || slices.Contains(known, line) {
				continue
			}
			if len(line) > maxLine || !directive.MatchString(line) {
				t.Errorf("%q becomes %q", pattern, line)
			}
			added = append(added, line)
		}
		var expressions []*regexp.Regexp
		for _, line := range added {
			list, isList := strings.CutPrefix(line, "acl list0 dstdom_regex -n -i ")
			if _, private := strings.CutPrefix(line, "acl private dstdom_regex -n -i "); !isList && !private {
				t.Errorf("%q adds %q", pattern, line)
			}
			if isList {
				expressions = append(expressions, regexp.MustCompile(list))
			}
		}
		if len(added) > 2 {
			t.Errorf("%q adds %q", pattern, added)
		}
		name, err := egress.ParseHost(asked)
		if err != nil || len(expressions) != 1 {
			return
		}
		allow, err := egress.ParseAllowlist([]string{pattern})
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		if ours := allow.Allows(name); ours != expressions[0].MatchString(name) {
			t.Errorf("%q allows %q: %v; %s says otherwise", pattern, name, ours, expressions[0])
		}
	})
}
