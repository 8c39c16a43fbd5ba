package selftest

// checks lists all checks, in the order in which they are reported.
func checks() []check {
	return []check{
		{"user", user},
		{"capabilities", capabilities},
		{"no-new-privileges", noNewPrivileges},
		{"seccomp", seccomp},
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
		{"sandboxes", isolation},
	}
}
