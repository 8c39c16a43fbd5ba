//go:build !windows

package api

// DefaultHost is where a daemon listens unless it is told otherwise.
const DefaultHost = "unix:///var/run/docker.sock"

var dialers = map[string]dialer{"unix": dialUnix}
