package host

import (
	"os"
	"strings"
)

// forget takes variables out of the environment of this process, apart from those that
// the Go libraries read when they come to need them.
func forget(environ []string) {
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); name != "" && !readLater(name) {
			_ = os.Unsetenv(name) // the name came from the environment, so it is one
		}
	}
}

// readLater lists what is looked up late: where things are, how to get out, and how the
// runtime behaves. Without letter case, since some systems ignore it.
func readLater(name string) bool {
	switch strings.ToUpper(name) {
	case "PATH", "HOME", "TMPDIR", "TZ", "ZONEINFO", "LANG", "LC_ALL", "TERM",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "LOCALDOMAIN", "RES_OPTIONS",
		"GODEBUG", "GOTRACEBACK", "GOCOVERDIR",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "USERPROFILE", "PATHEXT", "COMSPEC":
		return true
	}
	return strings.HasPrefix(name, "=") // how Windows notes the directories of drives
}
