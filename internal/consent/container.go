package consent

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/perstack-go/perstack/internal/manifest"
	"github.com/perstack-go/perstack/job"
)

// container adds what [docker] asks for.
func (l *lister) container() {
	c, usual := l.project.Resolved.Isolation.Container, job.DefaultContainer()
	said := l.project.Config.Settings.Isolation.Container
	l.sizes(c, usual)
	add := func(kind Kind, key, subject, format string, args ...any) *Request {
		return l.add(kind, "docker."+key, key+" "+subject, format, args...)
	}
	if l.project.Resolved.From("baseImage") == job.File {
		add(manifest.RequestImages, "baseImage", c.BaseImage, "the container uses the image %s", c.BaseImage)
	}
	pinnable := func(key, name, format string) {
		r := add(manifest.RequestImages, key, name, format, name)
		if pinned, ok := l.project.Lock.Image(name); ok && pinned != name {
			r.code = pinned
			r.Text += ", pinned by " + l.lockName()
		}
	}
	if said.NodeImage != "" && said.NodeImage != usual.NodeImage {
		pinnable("nodeImage", said.NodeImage, "skills that are npm packages use the image %s")
	}
	if said.PythonImage != "" {
		pinnable("pythonImage", said.PythonImage, "skills that are uv packages use the image %s")
	}
	if c.Proxy == job.ProxySquid {
		pinnable("squidImage", c.SquidImage, "the proxy of the container uses the image %s")
	}
	for _, mirror := range said.Mirrors {
		add(manifest.RequestImages, "mirrors", mirror, "images are looked for at %s first", mirror)
	}
	if c.Proxy == job.ProxySquid && l.project.Resolved.From("proxy") == job.File {
		add(manifest.RequestProxy, "proxy", c.Proxy, "Squid decides what leaves the container, and not perstack").Explicit = true
	}
	if said.Network != "" {
		add(manifest.RequestNetwork, "network", said.Network, "the proxy of the container is in your network %s", said.Network)
	}
	if len(said.DNS) > 0 {
		servers := strings.Join(said.DNS, ", ")
		add(manifest.RequestNetwork, "dns", servers, "the name servers of the proxy are %s", servers)
	}
}

// sizes adds the numbers that are above their defaults, whichever they are: a number without a
// default has none to be above of.
func (l *lister) sizes(c, usual job.Container) {
	have, normal := reflect.ValueOf(c), reflect.ValueOf(usual)
	for i := range have.NumField() {
		a, b := have.Field(i), normal.Field(i)
		if b.IsZero() || !b.CanInt() && !b.CanFloat() || !above(a, b) {
			continue
		}
		name, _, _ := strings.Cut(have.Type().Field(i).Tag.Get("json"), ",")
		l.raised("docker."+name, name+" of the container", size(a.Interface()), size(b.Interface()))
	}
}

func above(a, b reflect.Value) bool {
	if a.CanFloat() {
		return a.Float() > b.Float()
	}
	return a.Int() > b.Int()
}

func size(value any) string {
	switch v := value.(type) {
	case time.Duration:
		return manifest.FormatDuration(v)
	case int64:
		return manifest.FormatBytes(v)
	}
	return fmt.Sprint(value)
}
