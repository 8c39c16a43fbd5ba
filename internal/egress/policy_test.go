package egress

import (
	"fmt"
	"strings"
	"testing"
)

// A policy is read strictly: whatever is not understood would be a rule that is missing.
func TestParseListeners(t *testing.T) {
	const listener = `{"name":"g","address":"127.0.0.1:0","allow":["a.example"],"token":"t"}`
	config, err := ParseProxyConfig([]byte(`{"listeners":[` + listener + `],"upstream":"http://u:p@proxy:8080","maxConnections":7}`))
	if err != nil || len(config.Listeners) != 1 || config.Listeners[0].Token != "t" || config.MaxConnections != 7 || config.Upstream == "" {
		t.Errorf("got %+v, %v", config, err)
	}
	one := func(listener string) string { return `{"listeners":[` + listener + `]}` }
	for _, text := range []string{
		``, `{}`, `[]`, `null`, `{"listeners":[]}`, `{"listeners":null}`, one(listener) + one(listener), one(listener) + "x",
		`{"listeners":[` + listener + `],"Upstream":""}`, `{"listeners":[` + listener + `],"more":1}`, `{"listeners":[` + listener + `],"listeners":[]}`,
		one(listener + "," + listener),
		one(`{"name":"","address":"127.0.0.1:0","allow":[]}`), one(`{"name":"a\n","address":"127.0.0.1:0","allow":[]}`), one(`{"name":"` + strings.Repeat("a", 1025) + `","address":"127.0.0.1:0","allow":[]}`),
		one(`{"name":"g","allow":[]}`), one(`{"name":"g","address":":3128","allow":[]}`), one(`{"name":"g","address":"localhost:1","allow":[]}`), one(`{"name":"g","address":"127.0.0.1","allow":[]}`), one(`{"name":"g","address":"127.0.0.1:99999","allow":[]}`),
		one(`{"name":"g","address":"127.0.0.1:0","allow":["10.0.0.1"]}`), one(`{"name":"g","address":"127.0.0.1:0","allow":["a",""]}`), one(`{"name":"g","address":"127.0.0.1:0","allow":"a"}`),
		one(`{"name":"g","address":"127.0.0.1:0","allow":[],"token":"secret\r\nX: y"}`), one(`{"name":"g","address":"127.0.0.1:0","allow":[],"token":"` + strings.Repeat("secret", 100) + `"}`),
		`{"listeners":[` + listener + `],"maxConnections":-1}`, `{"listeners":[` + listener + `],"maxConnections":10001}`,
		`{"listeners":[` + strings.TrimSuffix(strings.Repeat(listener+",", 1001), ",") + `]}`,
		strings.Repeat(" ", MaxPolicy) + one(listener),
	} {
		if _, err := ParseProxyConfig([]byte(text)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.100s: error %v", text, err)
		}
	}
	for _, text := range []string{
		"https://proxy:8080", "proxy:8080", "http://proxy", "http://proxy:0", "http://proxy:99999", "http://:8080", "socks5://proxy:1", "http://proxy:1/secret", "http://proxy:1?secret", "http://proxy:1#secret",
		"http://user:secret@", "http://a%3Ab:secret@proxy:1", "http://pro xy:1", "http://us\ner:secret@proxy:1",
	} {
		if _, err := ParseProxyConfig(fmt.Appendf(nil, `{"listeners":[%s],"upstream":%q}`, listener, text)); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v", text, err)
		}
	}
	for text, want := range map[string]string{"http://proxy.corp:8080": "proxy.corp:8080", "http://10.0.0.1:3128/": "10.0.0.1:3128", "http://[fd00::1]:3128": "[fd00::1]:3128"} {
		if up, err := parseUpstream(text); err != nil || up.address != want || up.secret != "" {
			t.Errorf("%s: got %+v, %v", text, up, err)
		}
	}
}

// What is wrong with a policy is said in words of the policy: its author does not know our
// types, and a value may be a token.
func TestParseListenersSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                                      "the document must be an object",
		`"secret"`:                                "the document must be an object",
		`{"listeners":"secret"}`:                  `"/listeners" must be a list`,
		`{"listeners":["secret"]}`:                `"/listeners/0" must be an object`,
		`{"listeners":[{"allow":"secret"}]}`:      `"/listeners/0/allow" must be a list`,
		`{"listeners":[{"allow":[7]}]}`:           `"/listeners/0/allow/0" must be a string`,
		`{"listeners":[{"token":{"secret":1}}]}`:  `"/listeners/0/token" must be a string`,
		`{"maxConnections":"secret"}`:             `"/maxConnections" must be a whole number`,
		`{"maxConnections":1.5}`:                  `"/maxConnections" must be a whole number`,
		`{"listeners":[{"Token":"secret"}]}`:      `"/listeners/0/Token" is unknown`,
		`{"listeners":[],"listeners":[]}`:         `"/listeners" is given twice`,
		`{"listeners":[{"token":"secret\u0000,`:   "it is not valid JSON after",
		``:                                        "it is not valid JSON",
		`{"` + strings.Repeat("x", 5000) + `":1}`: `xxx" is unknown`,
	} {
		_, err := ParseProxyConfig([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), "the policy cannot be read: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
			continue
		}
		if said := err.Error(); strings.Contains(said, "secret") || strings.Contains(said, "Go ") || strings.Contains(said, "egress.") || strings.Contains(said, "json:") || len(said) > 300 {
			t.Errorf("%.60s: %v", text, err)
		}
	}
}

// CheckUpstream is the rule that a policy is held to.
func TestCheckUpstream(t *testing.T) {
	for text, good := range map[string]bool{
		"": true, "http://proxy:3128": true, "http://me:secret@proxy:3128/": true,
		"http://me:secret@proxy": false, "http://me:secret@proxy:3128/x": false, "http://m%3Ae:secret@proxy:3128": false, "https://me:secret@proxy:3128": false,
	} {
		if err := CheckUpstream(text); (err == nil) != good || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// All listeners open, or none.
func TestListenAllOrNone(t *testing.T) {
	report := func(Line) error { return nil }
	first, err := Listen(t.Context(), ProxyConfig{Listeners: []Listener{{Name: "a", Address: "127.0.0.1:0"}}}, ProxyOptions{Report: report})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	taken := first.Listeners()[0].Address
	_, err = Listen(t.Context(), ProxyConfig{Listeners: []Listener{{Name: "x", Address: "127.0.0.1:0"}, {Name: "y", Address: taken}}}, ProxyOptions{Report: report})
	if err == nil || !strings.Contains(err.Error(), `listener "y"`) {
		t.Errorf("got %v", err)
	}
}
