package netaddr

import (
	"strings"
	"testing"
)

func TestDomainPattern(t *testing.T) {
	const hint = "write api.example.com or *.example.com, without scheme, port or path"
	const suffix = "anybody can have a name below a public suffix, such as com, co.uk or github.io; name the hosts, or the domain of one owner, like *.example.com"
	for s, want := range map[string]string{
		"api.example.com":                "",
		"*.example.com":                  "",
		"localhost":                      "",
		"*.Com":                          `"*.Com" allows too much: ` + suffix,
		"*.co.uk":                        `"*.co.uk" allows too much: ` + suffix,
		"*.github.io":                    `"*.github.io" allows too much: ` + suffix,
		"*.compute.amazonaws.com":        `"*.compute.amazonaws.com" allows too much: ` + suffix, // its subdomains are public suffixes
		"*.ck":                           `"*.ck" allows too much: ` + suffix,
		"*.corp":                         `"*.corp" allows too much: ` + suffix, // no such suffix today
		"github.io":                      "",
		"perstack.github.io":             "",
		"*.perstack.github.io":           "",
		"*.www.ck":                       "", // an exception of the list
		"*.internal":                     "", // cannot be reached
		"*.home.arpa":                    "",
		"a-b.example.com":                "",
		"3com.example":                   "",
		"a.1com":                         `invalid domain pattern "a.1com"; ` + hint, // the proxy would not take it
		strings.Repeat("a", 64) + ".com": `invalid domain pattern "` + strings.Repeat("a", 60) + `…"; ` + hint,
		"*":                              `invalid domain pattern "*"; ` + hint,
		"":                               `invalid domain pattern ""; ` + hint,
		"*.":                             `invalid domain pattern "*."; ` + hint,
		"api.*.com":                      `invalid domain pattern "api.*.com"; ` + hint,
		"example.com:443":                `invalid domain pattern "example.com:443"; ` + hint,
		"https://example.com":            `invalid domain pattern "https://example.com"; ` + hint,
		"example.com.":                   `invalid domain pattern "example.com."; ` + hint,
		"example.com\n":                  `invalid domain pattern "example.com\n"; ` + hint,
		"-a.example":                     `invalid domain pattern "-a.example"; ` + hint,
		"xn--abc.com":                    "punycode domains (xn--) are not allowed; they can look like another name; use an ASCII name",
		"a.XN--abc.com":                  "punycode domains (xn--) are not allowed; they can look like another name; use an ASCII name",
		"*.xn--abc":                      "punycode domains (xn--) are not allowed; they can look like another name; use an ASCII name",
		"аpple.com":                      "domains with other characters than ASCII are not allowed; they can look like another name",
		"127.0.0.1":                      `IP addresses are not allowed: "127.0.0.1"; name the host`,
		"0x7f.0x1":                       `IP addresses are not allowed: "0x7f.0x1"; name the host`,
		strings.Repeat("a.", 130) + "a":  `invalid domain pattern "` + strings.Repeat("a.", 30) + `…"; ` + hint,
	} {
		message, h := DomainPattern(s)
		if h != "" {
			message += "; " + h
		}
		if message != want {
			t.Errorf("%q: %s\nwant %s", s, message, want)
		}
	}
}

// The same question about the address of a provider, which other packages ask.
func TestProxyRefusal(t *testing.T) {
	const names = "its proxy connects only to names of letters, digits and hyphens, none of which begins with xn--"
	for address, want := range map[string]string{
		"https://api.example.com":      "",
		"https://api.example.com/v1":   "",
		"http://localhost:11434":       "in a container, this machine is the container itself",
		"http://127.1:11434":           "in a container, this machine is the container itself",
		"https://[::ffff:127.0.0.1]":   "in a container, this machine is the container itself",
		"https://192.168.1.1":          "its proxy does not connect to private addresses",
		"http://api.example.com":       "its proxy does not carry plain http",
		"https://api.example.com:8443": "its proxy connects to port 443 only",
		"https://u:p@api.example.com":  "it must not contain a user name or password",
		"":                             "it is not a URL",
		"https://api.example.com.":     "",
		"https://api.example.com..":    names,
		"https://a_b.example.com":      names,
		"https://XN--p1ai.example":     names,
		"https://-a.example.com":       names,
		"https://a.example.1com":       names,
	} {
		if got := ProxyRefusal(address, false); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
}
