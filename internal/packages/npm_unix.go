//go:build unix

package packages

// npmProgram is what starts npm.
func npmProgram([]string) (program string, args []string) { return "npm", nil }
