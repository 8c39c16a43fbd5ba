package doctor

import (
	"path/filepath"
	"strings"

	"github.com/perstack-go/perstack/internal/cli/host"
)

// installProfile is the command that allows this program user namespaces where AppArmor restricts
// them.
const installProfile = "perstack doctor --apparmor-profile | sudo tee /etc/apparmor.d/perstack && sudo apparmor_parser -r /etc/apparmor.d/perstack"

// apparmorProfile is a profile for a program that restricts nothing. AppArmor lets programs
// without a profile make user namespaces, but gives them no rights there.
func apparmorProfile(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path) // AppArmor compares the path without links
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(real, "\"\\\n*?[]{}^@") {
		return "", host.Usagef("%s has characters that mean something else in an AppArmor profile; install perstack in another directory", real)
	}
	return `# AppArmor profile of perstack, for Ubuntu 24.04 and later: it lets perstack use user
# namespaces, which its sandbox is made of, and restricts nothing.
abi <abi/4.0>,
include <tunables/global>

profile perstack "` + real + `" flags=(unconfined) {
  userns,

  include if exists <local/perstack>
}
`, nil
}
