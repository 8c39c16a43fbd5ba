// Package owner tells which process something belongs to, and whether that process is
// gone: locks in the storage, containers and networks on an engine.
//
// Whoever cleans up after others may only touch what certainly has no owner any more. So
// [Identity.Dead] answers no whenever it cannot know: for a process of another machine,
// of another container, or of another user that the system does not let us see.
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
)

// An Identity tells a process from all others that ever ran. A field that the system does
// not tell is empty.
type Identity struct {
	Machine      string // a digest: the id of a machine is nobody's business
	BootID       string
	PIDNamespace string // where PID counts
	PID          int
	StartTime    string // in a unit of the system's

	Host string // the machine's name, for people; String leaves it out
}

// This returns the identity of this process.
func This() Identity {
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

// maxText bounds what [Parse] looks at. Anybody can label a container.
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
