// Package docker runs jobs in containers: the whole Expert (engine, tools, commands) runs in
// a hardened container whose only way out is our egress proxy, which runs in a
// second one. The history is written on the host, as for any other run.
//
// It speaks to the daemon's API and to nothing else: no docker command, no compose file,
// no shell. Nothing that a file or a model supplied becomes part of a command line, and
// secrets go in by standard input only (package hostlink).
//
// A run: [Runtime.Run] plans the job, makes the image (image.go) and the site (site.go:
// two networks, the proxy, the container), then writes down what the engine in the
// container reports until it ends (session.go), and removes everything again. What a
// killed run left behind is removed by the next (sweep.go).
package docker
