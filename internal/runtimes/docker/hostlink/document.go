// Package hostlink is the only connection between a container and the host: the document
// that goes in, and the lines that pass in both directions while a job runs.
//
// The engine in the container keeps no history. It hands out each event as a line and
// waits until the host says that it is written; only then does it act on it. So the
// journal is on the host's disk, in the host's hands, and nothing that was acted upon is missing
// in it, whatever happens to the container.
//
// What comes out of a container is hostile: lines have a limit, are decoded strictly, and
// what they say is checked by the receiver. What goes in holds secrets: it is
// written to standard input and nowhere else.
//
// Start reading at [Document], then [Up] and [Down]; [Conn.Store] is the history as the engine
// in the container sees it.
package hostlink

import (
	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/job"
)

// Protocol is the version of what passes between host and container. Both sides are the
// same program as a rule; a base image or a release can bring another.
const Protocol = 6

// A Document is all that a container needs to run a job, in one piece: the Spec, addresses
// and secrets.
type Document struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"` // of the perstack that wrote it

	Spec job.Spec `json:"spec"`
	// Discover asks for the tools of the skills of the Spec. No job is run.
	Discover  bool      `json:"discover,omitzero"`
	Addresses Addresses `json:"addresses"`
	Secrets   Secrets   `json:"secrets"`

	// Attachments are the bytes of those that the Spec names, by their digests.
	Attachments map[string][]byte `json:"attachments,omitzero"`

	Records int64 `json:"records,omitzero"` // lines of the history that follow
}

// Addresses say where things are in the container and around it, and what the self-test
// has to find closed.
type Addresses struct {
	Workspace         string   `json:"workspace"`                  // directory of the container
	Hidden            []string `json:"hidden,omitzero"`            // paths in it that must not show what the host has there
	ReadOnly          []string `json:"readOnly,omitzero"`          // files in it that no tool can change
	ReadOnlyWorkspace bool     `json:"readOnlyWorkspace,omitzero"` // nothing in it can be changed
	Environ           []string `json:"environ,omitzero"`           // harmless variables of commands, "NAME=value"
	Roots             string   `json:"roots,omitzero"`             // file of the image with the certificate authorities to trust
	Packages          string   `json:"packages,omitzero"`          // directory of the image with the packages of skills
	Data              string   `json:"data,omitzero"`              // directory of the container in which skills have theirs for data
	Gateway           string   `json:"gateway"`                    // address that the host would have on the container's network
	Tokenless         bool     `json:"tokenless,omitzero"`         // the proxy asks for no token (Squid): only sandboxes keep skills apart
}

// Secrets are what must not be seen outside of the container. The addresses of the proxy
// hold tokens.
type Secrets struct {
	// Proxy is the address of the proxy for the program itself,
	// http://user:token@address:port: it leads to the provider and to remote skills.
	Proxy string `json:"proxy"`
	// Proxies lead where the skills of Experts can go, by [engine.ProxyName].
	Proxies map[string]string `json:"proxies,omitzero"`

	// Variables are those that the model and skills need, Env those that commands get.
	Variables map[string]engine.Variable `json:"variables,omitzero"`
	Env       map[string]string          `json:"env,omitzero"`
	// Files are what opening the model reads: credentials, authorities, a cassette.
	Files []File `json:"files,omitzero"`
	// Headers are the values of headers, which are no part of a Spec; see [job.Spec.Headers].
	Headers job.Headers `json:"headers,omitzero"`
	// Hidden are values by name that must not be seen in what tools and providers say.
	Hidden map[string]string `json:"hidden,omitzero"`
}

// A File is one of the host's, by the path that it has there.
type File struct {
	Path string `json:"path"`
	Data []byte `json:"data"`
}
