package selftest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A status is /proc/self/status, by field.
type status map[string]string

func parseStatus(text string) status {
	s := make(status)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			s[name] = strings.TrimSpace(value)
		}
	}
	return s
}

// is checks the value of one field. A kernel that does not know it has no such wall.
func (s status) is(field, want string) (string, error) {
	got, ok := s[field]
	switch {
	case !ok:
		return "", fmt.Errorf("the kernel does not tell %s", field)
	case got != want:
		return "", fmt.Errorf("%s is %s, and must be %s", field, got, want)
	}
	return field + " is " + got, nil
}

func (s status) user() (string, error) {
	for _, field := range []string{"Uid", "Gid"} {
		ids := strings.Fields(s[field])
		switch {
		case len(ids) != 4: // real, effective, saved, of files
			return "", fmt.Errorf("the kernel does not tell %s", field)
		case slices.Contains(ids, "0"):
			return "", fmt.Errorf("%s is %s: 0 is root", field, strings.Join(ids, " "))
		}
	}
	groups, ok := s["Groups"]
	if !ok {
		return "", errors.New("the kernel does not tell Groups")
	}
	if slices.Contains(strings.Fields(groups), "0") {
		return "", fmt.Errorf("member of the groups %s: 0 is root", groups)
	}
	return "uid " + strings.Fields(s["Uid"])[0] + ", gid " + strings.Fields(s["Gid"])[0], nil
}

func (s status) capabilities() (string, error) {
	var left []string
	for _, field := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		set, ok := s[field]
		if !ok {
			return "", fmt.Errorf("the kernel does not tell %s", field)
		}
		if set == "" || strings.Trim(set, "0") != "" {
			left = append(left, field+" "+set)
		}
	}
	if left != nil {
		return "", fmt.Errorf("there are capabilities left: %s", strings.Join(left, ", "))
	}
	return "all sets are empty", nil
}
