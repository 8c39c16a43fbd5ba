package tag

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/cli/published"
	"github.com/perstack-go/perstack/internal/terminal"
)

func (o *Options) run(ctx context.Context) (err error) {
	key, err := o.check()
	if err != nil {
		return err
	}
	s, err := published.Open(ctx, o.Host, o.Flags.Config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if o.Key == "" {
		return o.choose(ctx, s)
	}
	r, err := s.Registry(ctx, key.Name)
	if err != nil {
		return err
	}
	if o.Verb == List && key.Version == "" {
		return o.list(ctx, r, key.Name)
	}
	v, err := r.Version(ctx, key)
	if err != nil {
		return err
	}
	current := published.CustomTags(v)
	wanted := o.Tags
	switch o.Verb {
	case List:
		return o.print(r, key, v.Tags)
	case Add:
		wanted = append(slices.Clone(current), o.Tags...)
	case Remove:
		for _, tag := range o.Tags {
			if !slices.Contains(current, tag) {
				return host.Usagef("%s does not have the tag %s; it has %s", key, tag, shown(current))
			}
		}
		wanted = slices.DeleteFunc(slices.Clone(current), func(tag string) bool { return slices.Contains(o.Tags, tag) })
	}
	return o.set(ctx, r, key, current, wanted)
}

// check reads the arguments.
func (o *Options) check() (key expert.Key, err error) {
	if o.Key == "" {
		if o.Verb != Set || o.Flags.JSON || !published.CanChoose(o.Host) {
			err = host.Usagef("no key given; name a version, like %s tag add @acme/researcher@1.0.0 stable", o.Host.Command)
		}
		return key, err
	}
	if o.Verb == List {
		if key, err = expert.ParseKey(o.Key); err != nil {
			return key, host.Usagef("%w", err)
		}
		switch {
		case len(o.Tags) > 0:
			err = host.Usagef("tag ls takes one key, but got %d arguments", len(o.Tags)+1)
		case key.Tag != "":
			err = host.Usagef("%s has a tag; name the Expert or an exact version", o.Key)
		}
		return key, err
	}
	if key, err = published.ExactKey(o.Key); err != nil {
		return key, err
	}
	if len(o.Tags) == 0 {
		return key, host.Usagef("no tags given; write them after the key")
	}
	return key, published.CheckTags(o.Tags)
}

// set makes the tags of a version those that are wanted.
func (o *Options) set(ctx context.Context, r *published.Registry, key expert.Key, current, wanted []string) error {
	wanted = slices.Compact(slices.Sorted(slices.Values(wanted)))
	if err := published.CheckTags(wanted); err != nil {
		return err
	}
	// Those that are set come first: if the registry refuses one, nothing is lost.
	for _, tag := range wanted {
		if slices.Contains(current, tag) {
			continue
		}
		if err := r.Client.SetTag(ctx, key.Name, tag, key.Version); err != nil {
			return r.Explain(err)
		}
	}
	for _, tag := range current {
		if slices.Contains(wanted, tag) {
			continue
		}
		if err := r.Client.RemoveTag(ctx, key.Name, tag, key.Version); err != nil {
			return r.Explain(err)
		}
	}
	if o.Flags.JSON {
		return o.print(r, key, wanted)
	}
	_, err := fmt.Fprintf(o.Host.Stdout, "Updated %s\n  Tags: %s\n", key, shown(wanted))
	return err
}

func shown(tags []string) string {
	if len(tags) == 0 {
		return "(none)"
	}
	return terminal.CleanLine(strings.Join(tags, ", "))
}

// print prints the tags of a version.
func (o *Options) print(r *published.Registry, key expert.Key, tags []string) error {
	if o.Flags.JSON {
		return host.WriteJSON(o.Host.Stdout, struct {
			Key      string   `json:"key"`
			Registry string   `json:"registry"`
			Tags     []string `json:"tags"`
		}{key.String(), r.Client.URL(), append([]string{}, tags...)})
	}
	_, err := fmt.Fprintln(o.Host.Stdout, shown(tags))
	return err
}

// list prints all tags of an Expert.
func (o *Options) list(ctx context.Context, r *published.Registry, name string) error {
	p, err := r.Package(ctx, name)
	if err != nil {
		return r.Explain(err)
	}
	if o.Flags.JSON {
		return host.WriteJSON(o.Host.Stdout, struct {
			Name     string            `json:"name"`
			Registry string            `json:"registry"`
			Tags     map[string]string `json:"tags"` // the version of each
		}{name, r.Client.URL(), p.Tags})
	}
	var text strings.Builder
	for i := range p.Versions {
		v := &p.Versions[i]
		if len(v.Tags) > 0 {
			fmt.Fprintf(&text, "%s  %s\n", terminal.CleanLine(v.Version), shown(v.Tags))
		}
	}
	if text.Len() == 0 {
		text.WriteString("(none)\n")
	}
	_, err = fmt.Fprint(o.Host.Stdout, text.String())
	return err
}
