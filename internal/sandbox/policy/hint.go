package policy

import (
	"cmp"
	"fmt"
)

// A HintKind says which part of a sandbox a program probably met.
type HintKind string

// The kinds of hints.
const (
	HintNetwork   HintKind = "network"   // a host that was not reached
	HintOutside   HintKind = "outside"   // a path that the sandbox does not show
	HintHidden    HintKind = "hidden"    // a protected file that cannot be read
	HintReadOnly  HintKind = "readonly"  // a path that cannot be changed
	HintGitConfig HintKind = "gitconfig" // the configuration or the hooks of a repository
)

// A Hint explains why a program failed. It is a guess from what the program printed.
type Hint struct {
	Kind HintKind `json:"kind"`
	// Path is absolute, or relative to the workspace if it is one of the protected paths there.
	Path string `json:"path,omitzero"`
	// Host is empty if the program did not name it.
	Host string `json:"host,omitzero"`
	// ByProxy says that the proxy refused the host, and so has reported it.
	ByProxy bool   `json:"byProxy,omitzero"`
	Command string `json:"command,omitzero"` // the name of the program
	// Message is for the model. It does not say whether a path outside the sandbox exists.
	Message string `json:"message"`
}

// Refused is the hint for a host that the proxy of a sandbox refused. It is no guess.
func Refused(host, command string) Hint {
	h := Hint{Kind: HintNetwork, Host: printable(host, maxPathBytes), Command: CommandName(command)}
	h.Message = h.Host + " cannot be reached from the sandbox: it is not one of the hosts that commands are allowed to reach"
	return h
}

// message is what the model hears. A program that was kept from a host by the proxy says something
// else, so a network that cannot be reached was tried directly.
func (h Hint) message(p *Policy) string {
	switch h.Kind {
	case HintNetwork:
		if h.ByProxy {
			return cmp.Or(h.Host, "the host") + " cannot be reached from the sandbox: its proxy allows only the hosts that are listed for the program"
		}
		network := "the sandbox has no network"
		if p.Listener || len(p.Ports) > 0 {
			network = "programs reach the network only through the proxy that HTTPS_PROXY names"
		}
		if h.Host == "" {
			return network
		}
		return fmt.Sprintf("%s cannot be reached directly: %s", h.Host, network)
	case HintOutside:
		return fmt.Sprintf("%s is outside the sandbox", h.Path)
	case HintHidden:
		return fmt.Sprintf("%s is hidden from commands", h.Path)
	case HintGitConfig:
		return fmt.Sprintf("%s is protected: commands cannot change the configuration and the hooks of git", h.Path)
	}
	return fmt.Sprintf("%s is read-only in the sandbox", h.Path)
}
