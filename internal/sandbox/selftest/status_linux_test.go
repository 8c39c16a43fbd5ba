package selftest

import (
	"strings"
	"testing"
)

// hardened is what the kernel says of a process in a container with every protection.
const hardened = `Name:	perstack
Umask:	0022
State:	R (running)
NSpid:	1
Uid:	1000	1000	1000	1000
Gid:	1000	1000	1000	1000
FDSize:	64
Groups:	1000 
CapInh:	0000000000000000
CapPrm:	0000000000000000
CapEff:	0000000000000000
CapBnd:	0000000000000000
CapAmb:	0000000000000000
NoNewPrivs:	1
Seccomp:	2
Seccomp_filters:	1
`

func TestStatus(t *testing.T) {
	user, capabilities, seccomp, privileges := status.user, status.capabilities, status.seccomp, status.noNewPrivileges
	for _, c := range []struct {
		name      string
		look      func(status) (string, error)
		old, new  string
		want, bad string // what is found, or what is wrong
	}{
		{"user", user, "", "", "uid 1000, gid 1000", ""},
		{"root", user, "Uid:	1000	1000	1000	1000", "Uid:	0	0	0	0", "", "0 is root"},
		{"effective root", user, "Uid:	1000	1000	1000	1000", "Uid:	1000	0	1000	1000", "", "0 is root"},
		{"saved root", user, "Uid:	1000	1000	1000	1000", "Uid:	1000	1000	0	1000", "", "0 is root"},
		{"group of root", user, "Gid:	1000	1000	1000	1000", "Gid:	0	0	0	0", "", "0 is root"},
		{"another group of root", user, "Groups:	1000 ", "Groups:	0 1000 ", "", "0 is root"},
		{"no other groups", user, "Groups:	1000 ", "Groups:	", "uid 1000, gid 1000", ""},
		{"no users", user, "Uid:", "Other:", "", "does not tell Uid"},
		{"no groups", user, "Groups:", "Other:", "", "does not tell Groups"},
		{"capabilities", capabilities, "", "", "all sets are empty", ""},
		{"bounding set", capabilities, "CapBnd:	0000000000000000", "CapBnd:	00000000a80425fb", "", "CapBnd 00000000a80425fb"},
		{"ambient set", capabilities, "CapAmb:	0000000000000000", "CapAmb:	0000000000000400", "", "CapAmb"},
		{"inheritable set", capabilities, "CapInh:	0000000000000000", "CapInh:	0000000000000001", "", "CapInh"},
		{"an unknown set", capabilities, "CapEff:", "CapOld:", "", "does not tell CapEff"},
		{"an empty line", capabilities, "CapPrm:	0000000000000000", "CapPrm:", "", "CapPrm"},
		{"seccomp", seccomp, "", "", "Seccomp is 2", ""},
		{"no seccomp", seccomp, "Seccomp:	2", "Seccomp:	0", "", "Seccomp is 0, and must be 2"},
		{"a kernel without seccomp", seccomp, "Seccomp:	2", "", "", "does not tell Seccomp"},
		{"no new privileges", privileges, "", "", "NoNewPrivs is 1", ""},
		{"new privileges", privileges, "NoNewPrivs:	1", "NoNewPrivs:	0", "", "NoNewPrivs is 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found, err := c.look(parseStatus(strings.Replace(hardened, c.old, c.new, 1)))
			if c.bad != "" {
				if err == nil || !strings.Contains(err.Error(), c.bad) {
					t.Errorf("%q, %v; want an error with %q", found, err, c.bad)
				}
			} else if err != nil || found != c.want {
				t.Errorf("%q, %v; want %q", found, err, c.want)
			}
		})
	}
}
