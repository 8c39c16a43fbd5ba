package process

import (
	"os"
	"strings"
)

// Forget removes variables from the environment of this process, except for those that the
// Go libraries read later. A program that has read its environment calls it, so that other
// code in the process does not see secrets there.
func Forget(environ []string) {
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); name != "" && !readLater(name) {
			_ = os.Unsetenv(name) // the name came from the environment, so it is one
		}
	}
}

// readLater reports the variables that libraries read when they need them: for paths,
// proxies and the behaviour of the Go runtime. Letter case is ignored, as on some systems.
func readLater(name string) bool {
	switch strings.ToUpper(name) {
	case "PATH", "HOME", "TMPDIR", "TZ", "ZONEINFO", "LANG", "LC_ALL", "TERM",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "LOCALDOMAIN", "RES_OPTIONS",
		"GODEBUG", "GOTRACEBACK", "GOCOVERDIR",
		"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "USERPROFILE", "PATHEXT", "COMSPEC":
		return true
	}
	return strings.HasPrefix(name, "=") // the current directories of drives on Windows
}
