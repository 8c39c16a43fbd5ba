package netaddr

import "testing"

func TestNormalURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://a.example": "https://a.example", "https://A.example./": "https://a.example", "https://a.example:443//": "https://a.example",
		"https://a.example:444/x/": "https://a.example:444/x", "http://[::1]:80/": "http://[::1]", "http://[::1]:81": "http://[::1]:81", "HTTP://localhost:8080/A": "http://localhost:8080/A",
	} {
		if got := NormalURL(in); got != want || NormalURL(got) != got {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
