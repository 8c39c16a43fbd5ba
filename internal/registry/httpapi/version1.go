package httpapi

import (
	"net/http"
	"slices"
	"time"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// version1 lists the routes of the original registry. Its clients reject whole answers for a member that they
// do not expect the way it is, so their forms are written out in shapes.go.
func (h *Handler) version1() []*route {
	return []*route{
		{method: http.MethodGet, pattern: api.V1 + "/experts", effect: reads, heavy: true, do: h.list1},
		{method: http.MethodPost, pattern: api.V1 + "/experts", effect: publishes, do: h.publish1},
		{method: http.MethodGet, pattern: api.V1 + "/experts/{key}", effect: reads, heavy: true, do: h.get1},
		{method: http.MethodPost, pattern: api.V1 + "/experts/{key}", effect: changes, do: h.update1},
		{method: http.MethodDelete, pattern: api.V1 + "/experts/{key}", effect: changes, do: h.unpublish},
		{method: http.MethodGet, pattern: api.V1 + "/experts/{key}/versions", effect: reads, heavy: true, do: h.versions1},
		{method: http.MethodGet, pattern: api.V1 + "/experts/{key}/content", effect: reads, heavy: true, do: h.content},
	}
}

// answer1 is an answer with one Expert.
type answer1 struct {
	Data struct {
		Expert *expert1 `json:"expert"`
	} `json:"data"`
}

// show1 answers with one version.
func (c *call) show1(rec *server.Record) error {
	var answer answer1
	var err error
	if answer.Data.Expert, err = newExpert1(rec); err != nil {
		return err
	}
	return c.json(answer)
}

// get1 answers with the version that a key means.
func (h *Handler) get1(c *call) error {
	found, err := h.opts.Registry.Get(c.ctx(), c.by, c.params["key"])
	if err != nil {
		return err
	}
	return c.show1(&found)
}

// list1 is the list of Experts.
type list1 struct {
	Data struct {
		Experts []*expert1 `json:"experts"`
	} `json:"data"`
	Meta meta1 `json:"meta"`
}

// meta1 says which part of a list an answer has.
type meta1 struct {
	Total int64 `json:"total"`
	Take  int64 `json:"take"`
	Skip  int64 `json:"skip"`
}

func (h *Handler) list1(c *call) error {
	take, err := c.number("take", api.MaxTake, 1, api.MaxTake)
	if err != nil {
		return err
	}
	const farthest = 10_000
	skip, err := c.number("skip", 0, 0, farthest)
	if err != nil {
		return err
	}
	sort, err := c.oneOf("sort", "", "name", "version", "createdAt", "updatedAt")
	if err != nil {
		return err
	}
	order, err := c.oneOf("order", "desc", "asc", "desc")
	if err != nil {
		return err
	}
	since, err := c.time("updatedSince")
	if err != nil {
		return err
	}
	const longestFilter, idLength = 256, 24
	organization := c.query("organizationId")
	switch {
	case organization != "" && len(organization) != idLength:
		return invalid("organizationId", "organizationId has 24 characters")
	case len(c.query("filter")) > longestFilter:
		return invalid("filter", "filter has 1 to 256 characters")
	case len(c.query("q")) > longestFilter:
		return invalid("q", "a search has at most 256 characters")
	}
	found, total, err := h.opts.Registry.List(c.ctx(), c.by, server.List{
		OrganizationID: organization, Filter: c.query("filter"), Sort: sort, Ascending: order == "asc", Take: int(take), Skip: int(skip),
		Text: c.query("q"), UpdatedSince: since,
	})
	if err != nil {
		return err
	}
	answer := list1{Meta: meta1{total, take, skip}}
	answer.Data.Experts = []*expert1{}
	for i := range found {
		// One that the original clients cannot read would take all others away from them.
		if e, err := newExpert1(&found[i]); err == nil {
			answer.Data.Experts = append(answer.Data.Experts, e)
		} else if !isStatus(err, http.StatusNotFound) {
			return err
		}
	}
	return c.json(answer)
}

// versionList1 is the list of the versions of an Expert.
type versionList1 struct {
	Data struct {
		Versions []*digest1 `json:"versions"`
		Latest   string     `json:"latest"`
	} `json:"data"`
	Meta struct {
		Total int `json:"total"`
	} `json:"meta"`
}

// versions1 lists the versions of an Expert. The version of the key means nothing.
func (h *Handler) versions1(c *call) error {
	key, err := expert.ParseKey(c.params["key"])
	if err != nil {
		return invalid("expertKey", err.Error())
	}
	found, latest, err := h.opts.Registry.Versions(c.ctx(), c.by, key.Name)
	if err != nil {
		return err
	}
	var answer versionList1
	answer.Data.Latest, answer.Data.Versions = latest, []*digest1{}
	for i := range found {
		answer.Data.Versions = append(answer.Data.Versions, newDigest1(&found[i]))
	}
	answer.Meta.Total = len(answer.Data.Versions)
	return c.json(answer)
}

// create1 asks to publish a version.
type create1 struct {
	Name              string            `json:"name"`
	Version           string            `json:"version"`
	MinRuntimeVersion string            `json:"minRuntimeVersion"`
	Description       string            `json:"description"`
	Instruction       string            `json:"instruction"`
	Skills            map[string]asked1 `json:"skills"`
	Delegates         []string          `json:"delegates"`
	Tags              []string          `json:"tags"`
	Runtime           []string          `json:"runtime"`    // of some releases of the first generation
	Visibility        string            `json:"visibility"` // not of the original
}

// asked1 is a skill to be published. A member that it does not have would be lost, and is refused.
type asked1 struct {
	Type        expert.SkillType `json:"type"`
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Rule        string           `json:"rule"`
	Pick        []string         `json:"pick"`
	Omit        []string         `json:"omit"`
	RequiredEnv []string         `json:"requiredEnv"`
	Command     string           `json:"command"`
	PackageName string           `json:"packageName"`
	Endpoint    string           `json:"endpoint"`
	Tools       map[string]tool1 `json:"tools"`
}

// ownRuntime is the original's name of the runtime that is not the program of another maker.
const ownRuntime = "perstack"

// publish1 publishes a version, or says whether it could be.
func (h *Handler) publish1(c *call) error {
	var asked create1
	if err := c.body(&asked); err != nil {
		return err
	}
	if _, ok := asked.Skills[expert.BaseSkill]; !ok {
		return &server.Error{Status: http.StatusBadRequest, Reason: expert.BaseSkill + " is required"}
	}
	// A definition has no list of runtimes. The one that every client can have changes nothing.
	if len(asked.Runtime) > 0 && !slices.Contains(asked.Runtime, ownRuntime) {
		return invalid("runtime", "An Expert that cannot run on perstack cannot be published here")
	}
	d := asked.definition()
	publish := api.Publish{Content: d.Encode(), Tags: asked.Tags, Visibility: asked.Visibility}
	opts := server.PublishOptions{Digest: c.r.Header.Get(api.DigestHeader), RepeatKey: c.r.Header.Get(api.IdempotencyHeader)}
	if c.flag("validateOnly") {
		advisories, err := h.opts.Registry.Validate(c.ctx(), c.by, publish, opts)
		if err != nil {
			return err
		}
		return c.json(validated{Advisories: notNil(advisories)})
	}
	if _, err := h.opts.Registry.Publish(c.ctx(), c.by, publish, opts); err != nil {
		return err
	}
	return h.showExact1(c, d.Key())
}

// change1 asks to change a version. The tags are all that it has; latest need not be among them.
type change1 struct {
	Status        string    `json:"status"`
	Tags          *[]string `json:"tags"`
	StatusMessage string    `json:"statusMessage"` // not of the original
	ReplacedBy    string    `json:"replacedBy"`    // not of the original
}

// update1 changes the status and the tags of a version.
func (h *Handler) update1(c *call) error {
	var asked change1
	if err := c.body(&asked); err != nil {
		return err
	}
	update := server.Update{Tags: asked.Tags}
	if asked.Status != "" {
		update.Status = &api.SetStatus{Status: asked.Status, Message: asked.StatusMessage, ReplacedBy: asked.ReplacedBy}
	}
	changed, err := h.opts.Registry.Update(c.ctx(), c.by, c.params["key"], update)
	if err != nil {
		return err
	}
	return c.show1(&changed)
}

// showExact1 answers with a version that was changed.
func (h *Handler) showExact1(c *call, key string) error {
	found, err := h.opts.Registry.Get(c.ctx(), c.by, key)
	if err != nil {
		return err
	}
	return c.show1(&found)
}

// definition is the same in our form.
func (a *create1) definition() *definition.Definition {
	d := &definition.Definition{
		Schema: definition.Schema, Name: a.Name, Version: a.Version, MinRuntimeVersion: a.MinRuntimeVersion,
		Description: a.Description, Instruction: a.Instruction, Delegates: a.Delegates, Skills: map[string]definition.Skill{},
	}
	for name, s := range a.Skills {
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
	return d
}

// time1 writes a time as the original clients accept it, and nothing else.
func time1(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
