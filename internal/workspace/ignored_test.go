package workspace

import "testing"

func TestIgnored(t *testing.T) {
	for _, tt := range []struct {
		path  string
		files map[string]string
		want  bool
	}{
		{".env", nil, false},
		{".env", map[string]string{"": ".env\n"}, true},
		{".env", map[string]string{"": ".env*\n!.env\n"}, false},
		{".env", map[string]string{"": "!.env\n.env\n"}, true},
		{".env", map[string]string{"": ".env/\n"}, false},
		{"app/.env", map[string]string{"": "/.env\n"}, false},
		{"app/.env", map[string]string{"": ".env\n"}, true},
		{"app/.env", map[string]string{"app/": "/.env\n"}, true},
		{"app/.env", map[string]string{"": ".env\n", "app/": "!.env\n"}, false},
		{"app/.env", map[string]string{"": "app/\n", "app/": "!.env\n"}, true},
		{"a/b/.env", map[string]string{"": "a/**/.env\n"}, true},
	} {
		got, err := Ignored(t.Context(), tt.path, func(dir string) []byte { return []byte(tt.files[dir]) })
		if err != nil || got != tt.want {
			t.Errorf("%s with %q: %v, %v", tt.path, tt.files, got, err)
		}
	}
}
