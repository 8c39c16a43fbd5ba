package store

import (
	"fmt"
	"strings"
)

// maxID bounds the length of an id, so that it fits into a file name everywhere.
const maxID = 128

// CheckID reports whether id can name a job, a run or a checkpoint. Ids become file
// names and object keys, so only letters, digits, "_", "-" and inner dots are
// allowed, and the first character must be a letter or a digit.
func CheckID(id string) error {
	if id == "" || len(id) > maxID {
		return fmt.Errorf("%w %q: it must have 1 to %d characters", ErrBadID, clip(id), maxID)
	}
	for i, r := range id {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		inner := i > 0 && i < len(id)-1
		if alnum || i > 0 && (r == '_' || r == '-') || inner && r == '.' {
			continue
		}
		return fmt.Errorf("%w %q: use letters, digits, '_', '-' and inner '.', starting with a letter or digit", ErrBadID, clip(id))
	}
	if isDevice(id) {
		return fmt.Errorf("%w %q: this is the name of a device on Windows; choose another", ErrBadID, id)
	}
	return nil
}

// isDevice reports whether Windows takes a file of this name for a device, whatever
// its extension. Such an id is refused everywhere: storage is copied between systems.
func isDevice(id string) bool {
	name, _, _ := strings.Cut(strings.ToLower(id), ".")
	switch name {
	case "con", "prn", "aux", "nul":
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '0' && name[3] <= '9'
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "..."
	}
	return s
}
