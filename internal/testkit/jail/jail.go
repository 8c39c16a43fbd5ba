// Package jail is what tests of the isolation of a container say to the program inside,
// [jaild], and what it finds there.
package jail

// A Task is what the program does, in this order: one line of JSON on its standard input.
type Task struct {
	Write   []string `json:"write,omitzero"`   // files to make, or directories to make a file in
	Change  []string `json:"change,omitzero"`  // files to append to
	Remove  []string `json:"remove,omitzero"`  // files and directories
	Read    []string `json:"read,omitzero"`    // files to read, or directories to list
	Dial    []string `json:"dial,omitzero"`    // network address, as in "tcp 10.0.0.1:80"
	Connect []string `json:"connect,omitzero"` // listeners and targets, as in "http://user:token@10.0.0.2:3128 example.com:443"
	Resolve []string `json:"resolve,omitzero"` // names
	Fill    string   `json:"fill,omitzero"`    // a file that is written until there is no space
	FillMax int64    `json:"fillMax,omitzero"` // bytes at which that ends
	Fork    int      `json:"fork,omitzero"`    // processes to start
	Eat     int64    `json:"eat,omitzero"`     // bytes of memory to use
	Hold    bool     `json:"hold,omitzero"`    // wait for the end of standard input before the end
	Exit    int      `json:"exit,omitzero"`
}

// A Report is what it saw: one line of JSON on its standard output.
type Report struct {
	UID, GID   int
	Groups     []int
	PID        int
	Hostname   string
	Status     map[string]string // of /proc/self/status: CapEff, NoNewPrivs, Seccomp …
	Limits     map[string]string // soft and hard, of /proc/self/limits
	Env        []string
	Mounts     []Mount
	Routes     []string // lines of /proc/net/route
	IPv6       []string // lines of /proc/net/if_inet6
	Listening  []string // local addresses of /proc/net/tcp
	Devices    []string // names in /dev
	Namespaces map[string]string
	Forwarding string // /proc/sys/net/ipv4/ip_forward
	Resolver   string // /etc/resolv.conf

	Wrote, Changed, Removed, Dialled, Resolved map[string]string // "" or the error
	Connected                                  map[string]string // first line of the answer
	Found                                      map[string]string // what files hold, the names in directories, or an error
	Filled                                     int64
	FillError                                  string
	Forked                                     int
	ForkError                                  string
}

// A Mount is a line of /proc/self/mountinfo.
type Mount struct {
	Root, Path, Options, Kind, SuperOptions string
}

// What the stand-in for the proxy does is said by the names of its listeners.
const (
	Silent   = "silent"   // never says that it is ready
	Babble   = "babble"   // says something else
	Mortal   = "mortal"   // ends with code 3 at the first connection
	Forger   = "forger"   // reports a decision of a listener that does not exist at the first connection
	Shouter  = "shouter"  // writes a line without end at the first connection
	Complain = "complain" // writes to standard error and ends before it is ready
)
