//go:build !linux

package docker

// startHint is how an engine is started as a rule.
const startHint = "docker desktop start"
