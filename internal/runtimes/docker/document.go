package docker

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/engine"
	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/egress"
	"github.com/perstack-go/perstack/internal/providers"
	"github.com/perstack-go/perstack/internal/runtimes"
	"github.com/perstack-go/perstack/internal/runtimes/docker/hostlink"
	"github.com/perstack-go/perstack/internal/version"
	"github.com/perstack-go/perstack/internal/wording"
	"github.com/perstack-go/perstack/job"
)

// Where things are in the container.
const (
	workDir = job.ContainerWorkspace
	homeDir = "/home/perstack"
	dataDir = "/data"

	// defaultPath is where commands are looked for.
	defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// engineListener is the name of the listener of the program in the container.
const engineListener = "engine"

// listeners are the listeners of the proxy. That of the engine leads to the provider and to
// remote skills. Every skill that is started as a program has one of its own, and so have
// the commands of each Expert, even if it leads nowhere: what is refused there is recorded.
func (r *runner) listeners() []egress.Listener {
	own := egress.Listener{Name: engineListener, Token: rand.Text()}
	origins := slices.Clone(r.model.URLs)
	var others []egress.Listener
	for _, e := range r.spec.Experts {
		base := egress.Listener{Name: engine.ProxyName(e.Key, expert.BaseSkill), Token: rand.Text()}
		for _, k := range e.Skills {
			switch {
			case k.Endpoint != "":
				origins = append(origins, k.Endpoint)
			case k.IsBase():
				base.Allow = k.AllowedDomains
			case k.Type == expert.StdioSkill:
				others = append(others, egress.Listener{Name: engine.ProxyName(e.Key, k.Name), Allow: k.AllowedDomains, Token: rand.Text()})
			}
		}
		others = append(others, base)
	}
	own.Allow = providers.Hosts(origins)
	return append([]egress.Listener{own}, others...)
}

func (r *runner) document(on *Site) (*hostlink.Document, error) {
	d := &hostlink.Document{
		Protocol: hostlink.Protocol,
		Version:  version.String(),
		Spec:     r.spec,

		Attachments: r.parts.Attachments,
		Addresses: hostlink.Addresses{
			Workspace: workDir, Hidden: on.plan.cover.Masked, ReadOnly: on.plan.cover.Frozen, ReadOnlyWorkspace: on.plan.container().ReadOnlyWorkspace,
			Environ: []string{"HOME=" + homeDir, "TMPDIR=/tmp", "LANG=C.UTF-8", "TERM=dumb"},
			Roots:   rootsPath, Gateway: on.inner.gateway.String(), Tokenless: on.plan.tokenless(),
		},
		Secrets: hostlink.Secrets{
			Proxy: on.Listeners[engineListener], Proxies: maps.Clone(on.Listeners),
			Variables: r.variables(), Env: r.handed(), Files: r.files(),
			Headers: r.spec.Headers(),
		},
	}
	delete(d.Secrets.Proxies, engineListener)
	if r.usesPackages() {
		d.Addresses.Packages = skillsDir
	}
	if len(on.plan.data) > 0 {
		d.Addresses.Data = dataDir
	}
	texts, err := secretTexts(d)
	if err != nil {
		return nil, err
	}
	d.Secrets.Hidden = r.parts.Secrets.Within(texts...)
	return d, nil
}

// maxAttached is how much of a line attachments can take. All of them go into the container in one,
// and come back in that of the first event.
const maxAttached = hostlink.MaxLine * 3 / 4

// checkAttachments refuses files that the model cannot be sent, or that are too large for a container,
// before one is made.
func (r *runner) checkAttachments() error {
	if err := runtimes.CheckAttachments(r.spec, r.parts.Attachments, r.model.Team); err != nil {
		return err
	}
	size, quoted := 0, []byte(nil)
	for i, a := range r.spec.Input.Attachments {
		back := 0
		for _, p := range a.Parts(i+1, r.parts.Attachments[a.Digest]) {
			quoted, _ = jsontext.AppendQuote(quoted[:0], p.Text) // it is valid
			back += len(quoted) + len(p.EncodedData)
		}
		size += max(base64.StdEncoding.EncodedLen(int(a.Size)), back)
	}
	if size > maxAttached {
		return fmt.Errorf("the attachments have %s as they are sent, and a container takes %s; leave some out, or use the runtime local", wording.Bytes(int64(size)), wording.Bytes(maxAttached))
	}
	return nil
}

// variables are those that the model and the skills of the job need.
func (r *runner) variables() map[string]engine.Variable {
	values := make(map[string]engine.Variable)
	for name, v := range r.model.Variables {
		values[name] = engine.Variable(v)
	}
	for _, e := range r.spec.Experts {
		for _, k := range e.Skills {
			for _, name := range k.RequiredEnv {
				values[name] = r.parts.Variables(name)
			}
		}
	}
	return values
}

// handed are the values of the variables that the user hands to commands.
func (r *runner) handed() map[string]string {
	values := make(map[string]string)
	for _, name := range r.spec.Isolation.Env {
		values[name] = r.parts.Variables(name).Value
	}
	return values
}

// files are what opening the model in the container reads.
func (r *runner) files() (files []hostlink.File) {
	for path, data := range r.model.Files {
		files = append(files, hostlink.File{Path: path, Data: data})
	}
	slices.SortFunc(files, func(a, b hostlink.File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// secretTexts are all texts of a document that can hold a secret. A Spec should hold none,
// but nothing keeps a user from writing one into an instruction or a command line.
func secretTexts(d *hostlink.Document) ([]string, error) {
	all, err := stringsOf(d.Spec)
	if err != nil {
		return nil, err
	}
	s := d.Secrets
	for _, v := range s.Variables {
		all = append(all, v.Value)
	}
	for _, f := range s.Files {
		all = append(all, string(f.Data))
	}
	texts := append(slices.Collect(maps.Values(s.Headers.Skills)), s.Env)
	for _, h := range append(slices.Collect(maps.Values(s.Headers.Experts)), s.Headers.Provider) {
		for _, value := range h.Body {
			all = append(all, string(value))
		}
		texts = append(texts, h.Headers)
	}
	for _, values := range texts {
		all = slices.AppendSeq(all, maps.Values(values))
	}
	return all, nil
}

func stringsOf(spec job.Spec) (all []string, err error) {
	text, err := spec.MarshalJSON()
	if err != nil {
		return nil, err
	}
	in := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if token.Kind() == '"' {
			all = append(all, token.String())
		}
	}
}
