package selftest

// checks lists all walls, in the order in which they are told.
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
		{"cells", cells},
	}
}
