package squid

import (
	"cmp"
	"net/netip"
	"strconv"

	"github.com/perstack-go/perstack/internal/egress"
)

// note is the name under which a rule notes its reason.
const note = "perstack"

// format is a line of the log: port of the listener, what Squid did, status, error, reason,
// address that was dialled, bytes from and to the client, method, target. What comes from
// a client is last, bounded, and written so that it has neither blanks nor ends of lines
// (#): it can forge neither a field nor a line.
const format = `%>lp %Ss %>Hs %err_code %{` + note + `}note %<a %>st %<st %#.24rm %#.600ru`

// limits bound what clients can take. Squid knows all clients of a run as one, by their
// address: the connections of all listeners are counted together.
func (c *config) limits(policy egress.ProxyConfig) {
	most := cmp.Or(policy.MaxConnections, egress.DefaultMaxConnections)
	c.add("client_ip_max_connections", strconv.Itoa(most-1))                     // Squid counts without the newest
	c.add("max_filedescriptors", strconv.Itoa(2*most+len(policy.Listeners)+128)) // two for a tunnel
	c.add("relaxed_header_parser off")                                           // what is not written as the standard says is refused
	c.add("request_header_max_size 16 KB")
	c.add("client_request_buffer_max_size 64 KB")
	c.add("reply_header_max_size 16 KB")
	c.add("read_ahead_gap 16 KB")
	c.add("request_start_timeout 10 seconds")
	c.add("request_timeout 10 seconds")
	c.add("connect_timeout 10 seconds")
	c.add("forward_timeout 30 seconds")
	c.add("forward_max_tries 8")
	c.add("dns_timeout 10 seconds")
	c.add("dns_retransmit_interval 2 seconds")
	c.add("read_timeout 10 minutes") // of a tunnel in which nothing flows
	c.add("client_lifetime 1 day")
	c.add("client_persistent_connections off")
	c.add("server_persistent_connections off")
	c.add("pipeline_prefetch 0")
}

// rest switches off what Squid does besides: caching, reporting, listening, writing.
func (c *config) rest(dns []netip.Addr) {
	c.add("dns_defnames off") // no search list
	c.add("hosts_file none")
	c.add("dns_multicast_local off")
	// An answer is kept at least this long, so that the addresses that were checked are those
	// that are dialled, whatever TTL a name server gives.
	c.add("negative_dns_ttl 30 seconds")
	c.add("positive_dns_ttl 60 seconds")
	if len(dns) > 0 {
		servers := []string{"dns_nameservers"}
		for _, a := range dns {
			servers = append(servers, a.String())
		}
		c.add(servers...)
	}
	c.add("cache deny all")
	c.add("cache_mem 0 MB")
	c.add("memory_cache_shared off")
	c.add("memory_pools off")
	c.add("cache_store_log none")
	c.add("netdb_filename none")
	c.add("via off")
	c.add("forwarded_for delete")
	c.add("httpd_suppress_version_string on")
	c.add("visible_hostname perstack")
	c.add("icp_port 0")
	c.add("htcp_port 0")
	c.add("snmp_port 0")
	c.add("pinger_enable off")
	c.add("pid_filename none")
	c.add("coredump_dir none")
	c.add("mime_table /dev/null")
	c.add("unlinkd_program /dev/null") // it has to exist, but there is no cache to unlink from
	c.add("cache_log /dev/null")
	c.add("logfile_rotate 0")
	c.add("shutdown_lifetime 0 seconds")
	c.add("logformat perstack", format)
	c.add("access_log stdio:/dev/stdout logformat=perstack")
	c.add("buffered_logs off")
}
