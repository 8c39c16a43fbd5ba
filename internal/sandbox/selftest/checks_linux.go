package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// checks lists all checks, in the order in which they are reported.
func checks() []check {
	return []check{
		{"user", ofStatus(status.user)},
		{"capabilities", ofStatus(status.capabilities)},
		{"no-new-privileges", ofStatus(status.noNewPrivileges)},
		{"seccomp", ofStatus(status.seccomp)},
		{"dumpable", dumpable},
		{"read-only-root", readOnlyRoot},
		{"masked", masked},
		{"workspace", workspace},
		{"docker-socket", dockerSocket},
		{"devices", devices},
		{"gateway", gateway},
		{"metadata", metadata},
		{"internet", internet},
		{"ipv6", ipv6},
		{"dns", dns},
		{"proxy", proxy},
		{Sandboxes, isolation},
	}
}

// ofStatus makes a check of what the kernel says about this process.
func ofStatus(look func(status) (string, error)) func(context.Context, Spec) (string, error) {
	return func(context.Context, Spec) (string, error) {
		data, err := os.ReadFile("/proc/self/status")
		if err != nil {
			return "", err
		}
		return look(parseStatus(string(data)))
	}
}

// dumpable checks that programs of the same user cannot read the memory of this process,
// which holds the keys.
func dumpable(context.Context, Spec) (string, error) {
	value, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	switch {
	case err != nil:
		return "", fmt.Errorf("ask for PR_GET_DUMPABLE: %w", err)
	case value != 0:
		return "", errors.New("programs of the same user can read the memory of this process")
	}
	return "not dumpable", nil
}

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

// is checks the value of one field. A kernel that does not report it does not enforce it.
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

// noNewPrivileges checks that no program can gain rights by being started.
func (s status) noNewPrivileges() (string, error) { return s.is("NoNewPrivs", "1") }

// seccomp checks that system calls are filtered: mode 2.
func (s status) seccomp() (string, error) { return s.is("Seccomp", "2") }

// user checks that none of the user and group ids of this process is that of root.
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

// capabilities checks that all sets are empty, including those that limit what programs
// started later can gain.
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
