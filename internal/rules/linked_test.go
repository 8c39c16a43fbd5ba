package rules

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// onServers are libraries for servers. They cost every start of a program that has them.
var onServers = []string{"modernc.org/sqlite", "github.com/jackc/pgx", "github.com/coreos/go-oidc"}

// TestServerLibraries fails if perstack has a library for servers, and if perstackd has lost one: the list
// would hold for nothing then.
func TestServerLibraries(t *testing.T) {
	for program, want := range map[string]bool{"./cmd/perstack": false, "./cmd/perstackd": true} {
		cmd := exec.Command("go", "list", "-deps", program)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Fields(string(out))
		for _, library := range onServers {
			if has := slices.ContainsFunc(all, func(path string) bool { return matches(library+"/...", path) }); has != want {
				t.Errorf("%s has %s: %v, want %v", program, library, has, want)
			}
		}
	}
}
