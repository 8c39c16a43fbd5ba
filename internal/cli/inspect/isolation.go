package inspect

import (
	"strconv"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/job"
)

// A Container is the isolation of a run with the runtime docker: as the file says, or the
// defaults. Sizes are bytes.
type Container struct {
	Memory            int64    `json:"memory"`
	MemoryReservation int64    `json:"memoryReservation"`
	CPUs              float64  `json:"cpus"`
	PIDs              int      `json:"pids"`
	TmpSize           int64    `json:"tmpSize"`
	CacheSize         int64    `json:"cacheSize"`
	BaseImage         string   `json:"baseImage,omitzero"`
	NodeImage         string   `json:"nodeImage,omitzero"` // for packages of npm, if there is no baseImage; like the next
	PythonImage       string   `json:"pythonImage,omitzero"`
	SquidImage        string   `json:"squidImage,omitzero"`
	Images            []Image  `json:"images,omitempty"` // what runs of the Expert need, beside baseImage
	Mirrors           []string `json:"mirrors,omitempty"`
	Offline           bool     `json:"offline,omitzero"`
	Proxy             string   `json:"proxy,omitzero"` // builtin or squid
	ReadOnlyWorkspace bool     `json:"readOnlyWorkspace"`
	DNS               []string `json:"dns,omitempty"`
	Network           string   `json:"network,omitzero"`
	BuildTimeoutMS    int64    `json:"buildTimeoutMs"`
	StartTimeoutMS    int64    `json:"startTimeoutMs"`
	IdleTimeoutMS     int64    `json:"idleTimeoutMs"`
	TotalTimeoutMS    int64    `json:"totalTimeoutMs"`
	MaxJournalBytes   int64    `json:"maxJournalBytes"`
}

// An Image is one that is fetched, by the name that the file has for it. Without a pin no
// run uses it.
type Image struct {
	Name   string `json:"name"`
	Pinned string `json:"pinned,omitzero"`
}

// container returns that of the file; nil where another runtime is in use.
func container(c *manifest.Config) *Container {
	if c.Runtime != job.Docker {
		return nil
	}
	d := c.Docker.Or(job.DefaultContainer())
	return &Container{
		Memory: d.Memory, MemoryReservation: d.MemoryReservation, CPUs: d.CPUs, PIDs: d.PIDs, TmpSize: d.TmpSize, CacheSize: d.CacheSize,
		BaseImage: d.BaseImage, NodeImage: d.NodeImage, PythonImage: d.PythonImage, SquidImage: d.SquidImage, Mirrors: d.Mirrors, Offline: d.Offline, Proxy: d.Proxy,
		ReadOnlyWorkspace: d.ReadOnlyWorkspace, DNS: d.DNS, Network: d.Network,
		BuildTimeoutMS: roundUp(d.BuildTimeout), StartTimeoutMS: roundUp(d.StartTimeout), IdleTimeoutMS: roundUp(d.IdleTimeout), TotalTimeoutMS: roundUp(d.TotalTimeout),
		MaxJournalBytes: d.MaxJournalBytes,
	}
}

// line names what is in the container and how much it may use.
func (w *Container) line() string {
	if w == nil {
		return ""
	}
	words := []string{
		"a container of " + manifest.FormatBytes(w.Memory),
		strconv.FormatFloat(w.CPUs, 'f', -1, 64) + " processors",
		strconv.Itoa(w.PIDs) + " processes",
		"at most " + (time.Duration(w.TotalTimeoutMS) * time.Millisecond).String(),
	}
	if w.ReadOnlyWorkspace {
		words = append(words, "the workspace cannot be changed")
	}
	if w.BaseImage != "" {
		words = append(words, "programs of the image "+w.BaseImage)
	}
	for _, i := range w.Images {
		if i.Pinned == "" {
			words = append(words, "the image "+i.Name+", which is not pinned")
		} else {
			words = append(words, "the image "+i.Pinned)
		}
	}
	if w.Offline {
		words = append(words, "nothing is fetched")
	} else if len(w.Mirrors) > 0 {
		words = append(words, prefixed("images from ", w.Mirrors))
	}
	if w.Proxy == job.ProxySquid {
		words = append(words, "connections through Squid")
	}
	if w.Network != "" {
		words = append(words, "connections through the network "+w.Network)
	}
	return strings.Join(words, ", ") + prefixed(", name servers ", w.DNS)
}

// hosts says what a server, or a command, may reach. The local runtime holds no process to
// it; a finding says so. In a container, what is not named is not reached.
func (c *Card) hosts(s Skill) string {
	switch {
	case len(s.AllowedDomains) > 0:
		return strings.Join(s.AllowedDomains, ", ")
	case s.Endpoint != "":
		return "" // perstack itself speaks to the endpoint, and to nothing else
	case c.Docker != nil || s.Sandbox != nil && !s.BuiltIn:
		return "none"
	case s.BuiltIn:
		return "" // what commands may do is told elsewhere
	}
	return "any"
}
