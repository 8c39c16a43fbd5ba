package egress

// A Gate is one door of the proxy: who may use it, and where it leads.
type Gate struct {
	Name    string   `json:"name"`    // as decisions are reported: engine, or Expert and skill
	Address string   `json:"address"` // to listen at, address:port; port 0 chooses one
	Allow   []string `json:"allow"`   // names and *.names; empty allows nothing
	// Token is the password that a client has to show, with the user name perstack
	// (Proxy-Authorization: Basic); empty for none.
	Token string `json:"token,omitzero"`
}

// Gates is what the proxy is told: by perstack egress --policy, as one JSON document.
type Gates struct {
	Gates []Gate `json:"gates"`
	// Upstream is a proxy that every connection goes through, http://[user:password@]host:port;
	// empty for none. It looks names up itself: addresses cannot be checked then.
	Upstream       string `json:"upstream,omitzero"`
	MaxConnections int    `json:"maxConnections,omitzero"` // at once, through all gates; 0 means DefaultMaxConnections
}

// DefaultMaxConnections is how many tunnels may be open at once.
const DefaultMaxConnections = 256

// A Line is what perstack egress prints: one JSON object a line, one member set.
type Line struct {
	Ready  []Gate  `json:"ready,omitzero"` // all gates listen; with their addresses, without tokens
	Access *Access `json:"access,omitzero"`
	Closed *Closed `json:"closed,omitzero"`
}

// Access is one decision, reported when it is made.
type Access struct {
	ID      int64  `json:"id"` // of the connection; counts up
	Gate    string `json:"gate"`
	Allowed bool   `json:"allowed"`
	Host    string `json:"host"` // in the one spelling, or what was understood of it, safe to print
	Port    int    `json:"port"`
	Reason  string `json:"reason,omitzero"`  // of a refusal; see Reason…
	Address string `json:"address,omitzero"` // that was dialled
}

// Closed says what an allowed connection carried.
type Closed struct {
	ID       int64 `json:"id"`
	Sent     int64 `json:"sent"`     // bytes, by the client
	Received int64 `json:"received"` // bytes, by the client
}

// Why a connection is refused.
const (
	ReasonMethod     = "method"     // not CONNECT
	ReasonRequest    = "request"    // not a request that can be understood
	ReasonToken      = "token"      // without the gate's token
	ReasonHost       = "host"       // not a host name in its one spelling
	ReasonPort       = "port"       // not 443
	ReasonDomain     = "domain"     // not among the names of the gate
	ReasonResolve    = "resolve"    // the name has no address
	ReasonAddress    = "address"    // one of its addresses is not public
	ReasonUnreached  = "unreached"  // nobody answered there
	ReasonServerName = "servername" // the TLS hello names another host, or none
	ReasonHello      = "hello"      // what follows is no TLS hello
	ReasonLimit      = "limit"      // too many connections
)
