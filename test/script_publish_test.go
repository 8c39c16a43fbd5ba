package test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/perstack-go/perstack/internal/testkit/realregistry"
)

// startRegistry returns the command real-registry, which starts a registry as perstackd serves it:
//
//	real-registry ORG     its address is $REGISTRY, and $REGISTRY_KEY is a key of the team. It is the
//	                      default registry in $CONFIG, which becomes the configuration of the user.
func startRegistry(t *testing.T) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: real-registry organization")
		}
		r := realregistry.Start(t, realregistry.Options{})
		dir := filepath.Join(ts.Getenv("CONFIG"), "perstack")
		ts.Check(os.MkdirAll(dir, 0o700))
		ts.Check(os.WriteFile(filepath.Join(dir, "config.toml"), fmt.Appendf(nil, "[registries.default]\nurl = %q\n", r.URL), 0o600))
		ts.Setenv("XDG_CONFIG_HOME", ts.Getenv("CONFIG"))
		ts.Setenv("REGISTRY", r.URL)
		ts.Setenv("REGISTRY_KEY", r.Key(args[0], "team"))
	}
}
