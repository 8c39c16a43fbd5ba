package manifest

import (
	"slices"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/job"
)

// Images are the images that runs of the file stand on with the runtime docker, as the file
// names them or by default, each once: what holds the packages of skills, and what Squid
// runs in. An image for commands is not among them: it is on this machine and nobody
// fetches it.
func (c *Config) Images() []string { return c.ImagesOf(c.Experts) }

// ImagesOf is Images for runs of these Experts alone.
func (c *Config) ImagesOf(experts []*expert.Expert) (names []string) {
	d := c.Docker.Or(job.DefaultContainer())
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, e := range experts {
		for _, s := range e.Servers() {
			p, ok := s.Package()
			switch {
			case !ok || d.BaseImage != "":
			case p.Manager == "npx":
				add(d.NodeImage)
			case p.Manager == "uvx":
				add(d.PythonImage)
			}
		}
	}
	if d.Proxy == job.ProxySquid {
		add(d.SquidImage)
	}
	return names
}
