package httpapi

import (
	"net/http"
	"regexp"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// expert1 is a version as the original clients read it. The members after updatedAt are ours; they ignore
// them.
type expert1 struct {
	Type              string         `json:"type"`
	ID                string         `json:"id"`
	Key               string         `json:"key"`
	Name              string         `json:"name"`
	Version           string         `json:"version"`
	MinRuntimeVersion string         `json:"minRuntimeVersion"`
	Description       string         `json:"description"`
	Instruction       string         `json:"instruction"`
	Status            string         `json:"status"`
	Skills            map[string]any `json:"skills"`
	Delegates         []string       `json:"delegates"`
	Tags              []string       `json:"tags"`
	Owner             owner1         `json:"owner"`
	CreatedAt         string         `json:"createdAt"`
	UpdatedAt         string         `json:"updatedAt"`

	Digest            string                `json:"digest"`
	Log               log1                  `json:"log"`
	PublishedBy       string                `json:"publishedBy,omitzero"`
	Signatures        []string              `json:"signatures"`
	StatusMessage     string                `json:"statusMessage,omitzero"`
	ReplacedBy        string                `json:"replacedBy,omitzero"`
	Visibility        string                `json:"visibility"`
	ResolvedDelegates []delegate1           `json:"resolvedDelegates"`
	Extensions        definition.Extensions `json:"extensions,omitzero"`
	Advisories        []string              `json:"advisories"`
}

type owner1 struct {
	Name           string `json:"name,omitzero"`
	OrganizationID string `json:"organizationId"`
	CreatedAt      string `json:"createdAt"`
}

// log1 is where the log has the publication of a version.
type log1 struct {
	Origin string `json:"origin"`
	Index  int64  `json:"index"`
}

type delegate1 struct {
	Key    string `json:"key"`
	Exact  string `json:"exact"`
	Digest string `json:"digest"`
}

// The forms of skills. Lists are always there: the original runtime goes through them without looking.
type (
	stdio1 struct {
		Type        string   `json:"type"`
		Description string   `json:"description"`
		Rule        string   `json:"rule,omitzero"`
		Pick        []string `json:"pick"`
		Omit        []string `json:"omit"`
		Command     string   `json:"command"`
		PackageName string   `json:"packageName"`
		RequiredEnv []string `json:"requiredEnv"`
	}
	sse1 struct {
		Type        string   `json:"type"`
		Description string   `json:"description"`
		Rule        string   `json:"rule,omitzero"`
		Pick        []string `json:"pick"`
		Omit        []string `json:"omit"`
		Endpoint    string   `json:"endpoint"`
	}
	interactive1 struct {
		Type        string           `json:"type"`
		Description string           `json:"description"`
		Rule        string           `json:"rule,omitzero"`
		Tools       map[string]tool1 `json:"tools"`
	}
	tool1 struct {
		Name            string `json:"name"`
		Description     string `json:"description"`
		InputJSONSchema string `json:"inputJsonSchema"`
	}
)

// digest1 is a version in the list of all versions. The members after updatedAt are ours.
type digest1 struct {
	Type              string   `json:"type"`
	ID                string   `json:"id"`
	Key               string   `json:"key"`
	Name              string   `json:"name"`
	Version           string   `json:"version"`
	MinRuntimeVersion string   `json:"minRuntimeVersion"`
	Description       string   `json:"description"`
	Tags              []string `json:"tags"`
	Owner             owner1   `json:"owner"`
	CreatedAt         string   `json:"createdAt"`
	UpdatedAt         string   `json:"updatedAt"`

	Status string `json:"status"`
	Digest string `json:"digest"`
}

// runtimeVersion is the only one that the original clients accept.
const runtimeVersion = "v1.0"

func newOwner1(rec *server.Record) owner1 {
	return owner1{Name: rec.Owner.Name, OrganizationID: rec.Owner.ID, CreatedAt: time1(rec.OwnerSince)}
}

// newExpert1 makes the form of the original clients. One that they cannot read is not found.
func newExpert1(rec *server.Record) (*expert1, error) {
	d, err := definition.Parse(rec.Content)
	if err != nil {
		return nil, err
	}
	if why := newerOnly(d); why != "" {
		return nil, &server.Error{Status: http.StatusNotFound, Reason: "The Expert needs a newer client: " + why}
	}
	e := &expert1{
		Type: "registryExpert", ID: rec.ID, Key: rec.Key(), Name: rec.Name, Version: rec.Version.Version, MinRuntimeVersion: runtimeVersion,
		Description: d.Description, Instruction: d.Instruction, Status: status1(rec.Status), Skills: map[string]any{}, Delegates: notNil(d.Delegates),
		Tags: notNil(rec.Tags), Owner: newOwner1(rec), CreatedAt: time1(rec.PublishedAt), UpdatedAt: time1(rec.UpdatedAt),
		Digest: rec.Digest, Log: log1{rec.Log, rec.Index}, PublishedBy: rec.PublishedBy, Signatures: []string{}, StatusMessage: rec.StatusMessage,
		ReplacedBy: rec.ReplacedBy, Extensions: d.Extensions, Visibility: rec.Visibility, ResolvedDelegates: []delegate1{}, Advisories: notNil(rec.Advisories),
	}
	if rec.Signature != "" {
		e.Signatures = append(e.Signatures, rec.Signature)
	}
	for _, delegate := range rec.Delegates {
		e.ResolvedDelegates = append(e.ResolvedDelegates, delegate1(delegate))
	}
	for name, s := range d.Skills {
		e.Skills[name] = newSkill1(name, s)
	}
	return e, nil
}

func newSkill1(name string, s definition.Skill) any {
	description := s.Description
	if description == "" {
		description = name + " skill" // they demand one
	}
	switch s.Type {
	case expert.StdioSkill:
		return stdio1{string(s.Type), description, s.Rule, notNil(s.Pick), notNil(s.Omit), s.Command, s.PackageName, notNil(s.RequiredEnv)}
	case expert.SSESkill:
		return sse1{string(s.Type), description, s.Rule, notNil(s.Pick), notNil(s.Omit), s.Endpoint}
	}
	tools := map[string]tool1{}
	for tool, t := range s.Tools {
		about := t.Description
		if about == "" {
			about = tool + " tool"
		}
		tools[tool] = tool1{tool, about, t.InputJSONSchema}
	}
	return interactive1{string(s.Type), description, s.Rule, tools}
}

// newDigest1 makes an entry of the list of versions.
func newDigest1(rec *server.Record) *digest1 {
	e := &digest1{
		Type: "expertDigest", ID: rec.ID, Key: rec.Key(), Name: rec.Name, Version: rec.Version.Version, MinRuntimeVersion: runtimeVersion,
		Description: "The version is withheld by an administrator", Tags: notNil(rec.Tags), Owner: newOwner1(rec),
		CreatedAt: time1(rec.PublishedAt), UpdatedAt: time1(rec.UpdatedAt), Status: status1(rec.Status), Digest: rec.Digest,
	}
	if rec.Status != api.Quarantined {
		e.Description = rec.Description
	}
	return e
}

// status1 is a status that the original clients know.
func status1(status string) string {
	if status == api.Available || status == api.Deprecated {
		return status
	}
	return api.Disabled
}

// The names that the original clients accept.
var (
	toolName1    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`) })
	packageName1 = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:@[a-z0-9][a-z0-9_.-]*\/)?[a-z0-9][a-z0-9_.-]*(?:@(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[\w.-]+)?(?:\+[\w.-]+)?|@[a-z0-9][a-z0-9_.-]*)?$`)
	})
)

// newerOnly says why the original clients cannot read a definition; "" if they can.
func newerOnly(d *definition.Definition) string {
	const longText, shortText = 20480, 2048
	if utf8.RuneCountInString(d.Description) > shortText || utf8.RuneCountInString(d.Instruction) > longText {
		return "its texts are too long"
	}
	for name, s := range d.Skills {
		known := []expert.SkillType{expert.StdioSkill, expert.SSESkill, expert.InteractiveSkill}
		switch {
		case !slices.Contains(known, s.Type):
			return "its skill " + name + " is of the type " + string(s.Type)
		case !packageName1().MatchString(name) || s.Type == expert.StdioSkill && !packageName1().MatchString(s.PackageName):
			return "its skill " + name + " has a name, or a package, that is not accepted here"
		case utf8.RuneCountInString(s.Description) > shortText || utf8.RuneCountInString(s.Rule) > shortText:
			return "the texts of its skill " + name + " are too long"
		case s.Type == expert.SSESkill && len(s.RequiredEnv) > 0:
			return "its skill " + name + " needs variables of the user"
		}
		for tool := range s.Tools {
			if !toolName1().MatchString(tool) {
				return "its tool " + tool + " has capital letters"
			}
		}
	}
	return ""
}
