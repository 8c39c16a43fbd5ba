package client

import (
	"context"
	"maps"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/tlog"
	"github.com/perstack-go/perstack/internal/registry/trust"
	"github.com/perstack-go/perstack/internal/wording"
)

// An originalExpert is an Expert as the original registry answers. Other members are for display.
type originalExpert struct {
	Type              string         `json:"type"`
	Key               string         `json:"key"`
	Name              string         `json:"name"`
	Version           string         `json:"version"`
	MinRuntimeVersion string         `json:"minRuntimeVersion"`
	Description       string         `json:"description"`
	Instruction       string         `json:"instruction"`
	Status            string         `json:"status"`
	Skills            jsontext.Value `json:"skills"`
	Delegates         []string       `json:"delegates"`
}

// An originalSkill has what a skill can say there, and nothing else: arguments of a command, for one, are
// an error.
type originalSkill struct {
	Type        expert.SkillType        `json:"type"`
	Name        string                  `json:"name"`
	Description string                  `json:"description"`
	Rule        string                  `json:"rule"`
	Pick        []string                `json:"pick"`
	Omit        []string                `json:"omit"`
	RequiredEnv []string                `json:"requiredEnv"`
	Command     string                  `json:"command"`
	PackageName string                  `json:"packageName"`
	Endpoint    string                  `json:"endpoint"`
	Tools       map[string]originalTool `json:"tools"`
}

type originalTool struct {
	Name            string `json:"name"`
	Description     string `json:"description"`
	InputJSONSchema string `json:"inputJsonSchema"`
}

// definition is the same in our form.
func (o *originalExpert) definition() (*definition.Definition, error) {
	var skills map[string]originalSkill
	if err := json.Unmarshal(o.Skills, &skills, json.RejectUnknownMembers(true)); err != nil {
		return nil, err
	}
	d := &definition.Definition{
		Schema: definition.Schema, Name: o.Name, Version: o.Version, MinRuntimeVersion: o.MinRuntimeVersion,
		Description: o.Description, Instruction: o.Instruction, Delegates: o.Delegates, Skills: map[string]definition.Skill{},
	}
	for name, s := range skills {
		skill := definition.Skill{
			Type: s.Type, Description: s.Description, Rule: s.Rule, Pick: s.Pick, Omit: s.Omit, RequiredEnv: s.RequiredEnv,
			Command: s.Command, PackageName: s.PackageName, Endpoint: s.Endpoint,
		}
		for tool, t := range s.Tools {
			if skill.Tools == nil {
				skill.Tools = map[string]definition.Tool{}
			}
			skill.Tools[tool] = definition.Tool{Description: t.Description, InputJSONSchema: t.InputJSONSchema}
		}
		d.Skills[name] = skill
	}
	return d, nil
}

// resolveOriginal asks a registry without a log, Expert by Expert. The digests are our own. A version that
// was seen before must have the same one.
func (c *Client) resolveOriginal(ctx context.Context, v *view, keys []string) (*Resolution, error) {
	c.unverified.Do(func() {
		c.options.Log.Warn("the registry has no transparency log: its Experts cannot be verified", "registry", c.base.String())
	})
	p := &verification{client: c, operation: "get", names: map[string]trust.Name{}}
	found := &Resolution{Keys: map[string]string{}, Experts: map[string]*Expert{}}
	exact := map[string]string{} // of all keys, those of delegates too
	rest := keys
	for len(rest) > 0 {
		key := rest[0]
		rest = rest[1:]
		if exact[key] != "" {
			continue
		}
		if len(exact) == 2*api.MaxClosure {
			return nil, p.lie("%s has more than %d delegates with theirs", keys[0], api.MaxClosure)
		}
		e, err := p.original(ctx, key)
		if err != nil {
			return nil, err
		}
		exact[key] = e.Key
		if before := found.Experts[e.Key]; before != nil && before.Digest != e.Digest {
			return nil, p.lie("the registry shows %s in two forms: %s and %s", e.Key, before.Digest, e.Digest)
		}
		if len(found.Experts) == api.MaxClosure {
			return nil, p.lie("%s has more than %d delegates with theirs", keys[0], api.MaxClosure)
		}
		found.Experts[e.Key] = e
		rest = append(rest, e.Definition.Delegates...)
	}
	for _, e := range found.Experts {
		for _, key := range e.Definition.Delegates {
			delegate := found.Experts[exact[key]]
			e.Delegates = append(e.Delegates, tlog.Delegate{Key: key, Exact: delegate.Key, Digest: delegate.Digest})
		}
	}
	for _, key := range keys {
		found.Keys[key] = exact[key]
		asked, err := expert.ParseKey(key)
		if err == nil && asked.Version == "" && (asked.Tag == "" || asked.Tag == "latest") {
			asked.Version = found.Experts[exact[key]].Definition.Version
			err = p.newest(key, asked)
		}
		if err != nil {
			return nil, err
		}
	}
	found.Newer = p.newer
	if err := p.closure(found); err != nil {
		return nil, err
	}
	if err := p.policy(found); err != nil {
		return nil, err
	}
	return found, c.commit(ctx, v, p.operation, "", p.proved(found))
}

// original gets one Expert.
func (p *verification) original(ctx context.Context, key string) (*Expert, error) {
	c := p.client
	asked, err := expert.ParseKey(key)
	if err != nil {
		return nil, p.lie("an Expert delegates to %s, which is not a key", wording.Quote(key))
	}
	var answer struct {
		Data struct {
			Expert originalExpert `json:"expert"`
		} `json:"data"`
	}
	if err := c.ask(ctx, request{
		operation: p.operation, method: http.MethodGet, path: append(segments(api.V1), "experts", key),
		again: true, withKey: c.private(key),
	}, &answer); err != nil {
		return nil, err
	}
	o := &answer.Data.Expert
	if o.Type != "registryExpert" || o.Key != o.Name+"@"+o.Version || o.Name != asked.Name || asked.Version != "" && o.Version != asked.Version {
		return nil, p.lie("the registry answers with %s instead of %s", wording.Quote(o.Key), key)
	}
	switch o.Status {
	case api.Available, api.Deprecated, api.Disabled:
	default:
		return nil, p.lie("%s has the unknown status %s", wording.Quote(o.Key), wording.Quote(o.Status))
	}
	d, err := o.definition()
	if err != nil {
		return nil, p.lie("%s has a skill that breaks the rules for published Experts: %s", wording.Quote(o.Key), shown(err.Error()))
	}
	e, err := p.parse(d.Encode(), o.Key)
	if err != nil {
		return nil, err
	}
	e.Unverified, e.Status = true, o.Status
	name, err := p.name(o.Name)
	if err != nil {
		return nil, err
	}
	if before := name.Digests[o.Version]; before != "" && before != e.Digest {
		return nil, p.lie("%s had the digest %s when this machine saw it first, and now has %s", e.Key, before, e.Digest)
	}
	digests := maps.Clone(name.Digests)
	if digests == nil {
		digests = map[string]string{}
	}
	digests[o.Version] = e.Digest
	name.Digests = digests
	p.names[o.Name] = name
	return e, nil
}
