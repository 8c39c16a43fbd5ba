//go:build !linux

package docker

// startHint is how a daemon is started as a rule.
const startHint = "docker desktop start"
