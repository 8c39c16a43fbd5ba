package model

import (
	"slices"
	"strings"
)

// find returns what the catalogue has of a model. A name that only looks like another is
// another model: neither its window nor its price may be guessed.
//
// The exact id counts first, since a single version may have a price of its own. Then
// comes the model without its version, and last a model that is listed in another of its
// versions. Where Bedrock runs it makes no difference, unless the row says where: then it
// is cheaper there.
func find(provider, model string) *row {
	rows := known().Models
	plain := unversioned(provider, model)
	if provider == bedrock {
		plain = anywhere(plain)
	}
	for _, same := range []func(id string) bool{
		func(id string) bool { return id == model },
		func(id string) bool { return id == plain },
		func(id string) bool { return unversioned(provider, id) == plain },
	} {
		for i := range rows {
			if rows[i].Provider == provider && same(rows[i].ID) {
				return &rows[i]
			}
		}
	}
	return nil
}

// unversioned takes off a model's id what does not tell models apart: the day of its
// release, as -20250929, -2025-08-07 or @20250929, or -latest, and for Bedrock -v1:0.
func unversioned(provider, id string) string {
	if provider == bedrock {
		id = strings.TrimSuffix(id, "-v1:0")
	}
	for _, form := range []string{"-00000000", "@00000000", "-0000-00-00", "-latest", "@latest"} {
		if plain, ok := cutForm(id, form); ok {
			return plain
		}
	}
	return id
}

// cutForm cuts off an end of a certain form, in which 0 stands for any digit.
func cutForm(id, form string) (string, bool) {
	at := len(id) - len(form)
	if at < 0 {
		return "", false
	}
	for i := range len(form) {
		c := id[at+i]
		if c != form[i] && !(form[i] == '0' && c >= '0' && c <= '9') {
			return "", false
		}
	}
	return id[:at], true
}

// anywhere takes off where Bedrock runs a model.
func anywhere(id string) string {
	region, rest, _ := strings.Cut(id, ".")
	if slices.Contains([]string{"us", "us-gov", "eu", "apac", "au", "ca", "jp", "global"}, region) {
		return rest
	}
	return id
}
