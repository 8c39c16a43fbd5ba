package scopes

import (
	"errors"
	"slices"
	"testing"
)

// Which registry a user means. A name is one of the user's own configuration: a project cannot take it.
func TestChoose(t *testing.T) {
	mine := registry("acme", acme, `scopes = ["@acme"]`)
	for _, tt := range []struct {
		name, user, project, text string
		url, known                string // empty url: refused
		usual, asks               bool
	}{
		{"default", mine, "", "", public, "default", true, false},
		{"default by name", mine, "", "default", public, "default", true, false},
		{"own default", registry("default", acme), "", "", acme, "default", true, false},
		{"default of the project", mine, base(evil), "", evil, "default", false, true},
		{"default by name in such a project", mine, base(evil), "default", public, "default", false, false},
		{"two defaults", registry("default", acme), base(evil), "", "", "", false, false},
		{"name", mine, "", "acme", acme, "acme", false, false},
		{"name of the project", mine, registry("evil", evil), "evil", "", "", false, false},
		{"same name in the project", mine, registry("acme", evil), "acme", acme, "acme", false, false},
		{"address", mine, "", "HTTPS://Registry.ACME.example:443/", acme, "acme", false, false},
		{"address of the default", mine, "", public, public, "default", true, false},
		{"new address", mine, "", evil, evil, "", false, false},
		{"this machine", mine, "", "http://127.0.0.1:7421", "http://127.0.0.1:7421", "", false, false},
		{"without encryption", mine, "", "http://registry.example.com", "", "", false, false},
		{"with a password", mine, "", "https://me:x@registry.example.com", "", "", false, false},
		{"another scheme", mine, "", "ftp://registry.example.com", "", "", false, false},
	} {
		r := rules(t, tt.user, tt.project, Bindings{})
		d, err := r.Choose(tt.text)
		if tt.url == "" {
			if err == nil {
				t.Errorf("%s: %+v", tt.name, d)
			}
			continue
		}
		if err != nil || d.Registry.URL != tt.url || d.Registry.Name != tt.known || d.Default != tt.usual || d.Asks != tt.asks {
			t.Errorf("%s: %+v, %v", tt.name, d, err)
		}
	}
	r := rules(t, mine, "", Bindings{})
	_, err := r.Choose("other")
	var unknown *UnknownError
	if !errors.As(err, &unknown) || !slices.Equal(unknown.Known, []string{"default", "acme"}) {
		t.Error(err)
	}
}

// The key of the log of a registry that is named is the one that is known for its address.
func TestChooseLogKey(t *testing.T) {
	key := newLogKey(t, "acme/log")
	r := rules(t, registry("acme", acme, `logKey = "`+key+`"`), "", Bindings{})
	if d, err := r.Choose(acme); err != nil || d.Registry.LogKey != key {
		t.Errorf("%+v, %v", d, err)
	}
	r = rules(t, "", "", Bindings{LogKeys: map[string]string{acme: key}})
	if d, err := r.Choose(acme); err != nil || d.Registry.LogKey != key {
		t.Errorf("%+v, %v", d, err)
	}
}
