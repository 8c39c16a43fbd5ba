//go:build !linux

package probe

import "context"

// Init does nothing here.
func Init([]string) {}

// run finds no sandbox: those of other systems are not supported.
func run(context.Context) ([]Step, facts) {
	steps := []Step{{Name: order[0], Status: Fail, Detail: "create namespaces", Cause: "this system is not Linux", Remedy: "use the runtime docker"}}
	for _, name := range order[1:] {
		steps = append(steps, Step{Name: name, Status: Skipped, Detail: "a step before it failed"})
	}
	return steps, facts{}
}

// circumstances are none: there is nothing to remember.
func circumstances() []string { return nil }

func readSysctl(string) (string, bool) { return "", false }
