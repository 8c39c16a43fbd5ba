package providers

import "testing"

// OLLAMA_HOST is read as clients of Ollama read it.
func TestHostURL(t *testing.T) {
	for host, want := range map[string]string{
		"":                         "",
		"192.168.1.5":              "http://192.168.1.5:11434",
		"example.com:56789":        "http://example.com:56789",
		":56789":                   "http://127.0.0.1:56789",
		"0.0.0.0":                  "http://127.0.0.1:11434",
		"0.0.0.0:8080":             "http://127.0.0.1:8080",
		"[::]:11434":               "http://[::1]:11434",
		"[::1]":                    "http://[::1]:11434",
		"http://example.com":       "http://example.com:80",
		"https://example.com":      "https://example.com:443",
		"https://example.com/a/b/": "https://example.com:443/a/b",
	} {
		if got := hostURL(host); got != want {
			t.Errorf("%q is %q, want %q", host, got, want)
		}
	}
}
