package owner

// Dead reports whether the process has certainly ended. It is asked from the machine and
// the namespace of the caller; about others it knows nothing, and says no.
func (id Identity) Dead() bool { return id.dead(This(), look) }

func (id Identity) dead(me Identity, look func(pid int) process) bool {
	if id.PID <= 0 || !same(id.Machine, me.Machine) || !same(id.PIDNamespace, me.PIDNamespace) {
		return false
	}
	if id.BootID != "" && me.BootID != "" && id.BootID != me.BootID {
		return true // no process survives a boot
	}
	p := look(id.PID)
	switch p.state {
	case gone:
		return true
	case running:
		// The number was given out again.
		return id.StartTime != "" && p.start != "" && id.StartTime != p.start
	default:
		return false
	}
}

// same reports whether both are known and equal.
func same(a, b string) bool { return a != "" && a == b }

// A process is what the system says about a process id.
type process struct {
	state state
	start string // when it started; empty if the system does not say
}

type state int

const (
	unknown state = iota // the system does not let us know
	running
	gone
)
