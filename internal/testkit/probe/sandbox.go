package probe

import "strings"

// inSandbox is what rows want of a program that is in a sandbox: the kernel itself says no, where
// without it the container drops packets and listeners ask for a token.
func inSandbox(rows []Row) []Row {
	denied := strings.Fields("tcp-outside tcp-provider tcp-internet udp-outside tcp6-outside udp6-outside metadata loopback host-tcp host-udp gateway other-hosts icmp " +
		"dns-udp dns-tcp dns-docker dns-docker-text dns-docker-tcp dot listeners " +
		"proc-environ proc-cmdline proc-mem proc-fd ptrace devices processes")
	for i := range rows {
		for _, id := range denied {
			if rows[i].ID == id {
				rows[i].Want = []string{Denied}
			}
		}
	}
	return rows
}
