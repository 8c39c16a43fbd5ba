// Package pack makes npm packages of the programs of package attack and of evilmcp, so that
// they can be skills as any other server from npm.
package pack

import (
	"embed"
	"os"
	"path/filepath"
	"testing"

	"github.com/perstack-go/perstack/internal/testkit/node"
)

//go:embed npm/main.js npm/fixture.js
var scripts embed.FS

// The packages of the attacker and of the victim, for npx. They hold the same programs and are two, so that each
// has a directory of its own.
const (
	HostilePackage = node.Scope + "/guest"
	VictimPackage  = node.Scope + "/home"
	PackageVersion = "1.0.0"
)

// Publish makes the packages, each with its programs by their names.
func Publish(tb testing.TB, r *node.Registry, programs ...string) {
	tb.Helper()
	for _, name := range []string{HostilePackage, VictimPackage} {
		files := map[string]node.File{"own.txt": {Data: []byte("this is " + name + "\n")}}
		for _, script := range []string{"main.js", "fixture.js"} {
			data, err := scripts.ReadFile("npm/" + script)
			if err != nil {
				tb.Fatal(err)
			}
			files[script] = node.File{Data: data, Executable: true}
		}
		for _, program := range programs {
			data, err := os.ReadFile(program)
			if err != nil {
				tb.Fatal(err)
			}
			base := filepath.Base(program)
			files[cutDigest(base)] = node.File{Data: data, Executable: true}
		}
		r.Publish(tb, name, PackageVersion, "main.js", files)
	}
}

// cutDigest removes the digest that [daemon.Program] adds to a name.
func cutDigest(name string) string {
	for i := range name {
		if name[i] == '-' {
			return name[:i]
		}
	}
	return name
}
