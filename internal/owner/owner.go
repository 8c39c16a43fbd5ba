// Package owner identifies the process that something belongs to (a lock in the storage, a
// container, a network), and tells whether that process has ended.
//
// Code that cleans up may only remove what certainly has no owner any more. So
// [Identity.Dead] answers no whenever it cannot know: for a process of another machine, of
// another container, or of another user that the system does not show.
//
// Start reading at [This], then at [Identity.Dead].
package owner

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

// An Identity tells a process from all others that ever ran. A field that the system does
// not provide is empty.
type Identity struct {
	Machine      string // a digest, since the id of a machine is private
	BootID       string
	PIDNamespace string // of PID
	PID          int
	StartTime    string // in a unit of the system's

	Host string // the machine's name, for people; String leaves it out
}

// This returns the identity of this process. It is read once: it does not change while the process
// runs, and the lock of a job and its trust record both need it.
func This() Identity { return this() }

var this = sync.OnceValue(read)

func read() Identity {
	id := Identity{PID: os.Getpid(), BootID: bootID(), PIDNamespace: pidNamespace()}
	id.Host, _ = os.Hostname()
	id.Machine = digest(machineID(), id.Host)
	if p := look(id.PID); p.state == running {
		id.StartTime = p.start
	}
	return id
}

// digest names a machine by its id, or by its name where it has no id, as in most
// containers.
func digest(machineID, host string) string {
	from := "id " + machineID
	if machineID == "" {
		if host == "" {
			return ""
		}
		from = "host " + host
	}
	sum := sha256.Sum256([]byte("perstack owner: " + from))
	return hex.EncodeToString(sum[:8])
}

// version is the first field of the text, so that a later form is not misread.
const version = "1"

// separator is in none of the fields: they are digits, hexadecimal numbers and UUIDs.
const separator = "_"

// String returns the identity as text for a label: letters, digits, hyphens and
// underscores.
func (id Identity) String() string {
	return strings.Join([]string{version, id.Machine, id.BootID, id.PIDNamespace, strconv.Itoa(id.PID), id.StartTime}, separator)
}

// maxText bounds what [Parse] reads. Any user of the daemon can label a container.
const maxText = 256

// Parse reads what [Identity.String] wrote.
func Parse(text string) (Identity, error) {
	if len(text) > maxText {
		return Identity{}, fmt.Errorf("owner: %d bytes are too many", len(text))
	}
	fields := strings.Split(text, separator)
	if len(fields) != 6 || fields[0] != version {
		return Identity{}, fmt.Errorf("owner %q: not in the form of this version", text)
	}
	for _, f := range fields {
		if strings.ContainsFunc(f, func(r rune) bool { return !isField(r) }) {
			return Identity{}, fmt.Errorf("owner %q: a field has other characters than letters, digits and hyphens", text)
		}
	}
	pid, err := strconv.Atoi(fields[4])
	if err != nil || pid <= 0 {
		return Identity{}, fmt.Errorf("owner %q: %q is no process id", text, fields[4])
	}
	return Identity{Machine: fields[1], BootID: fields[2], PIDNamespace: fields[3], PID: pid, StartTime: fields[5]}, nil
}

func isField(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-'
}

// Dead reports whether the process has certainly ended. It answers no for processes of
// other machines and namespaces, about which it knows nothing.
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
		// The number was reused.
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
