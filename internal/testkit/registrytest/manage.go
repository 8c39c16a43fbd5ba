package registrytest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/definition"
	"github.com/perstack-go/perstack/internal/registry/tlog"
)

// manage answers requests about Experts that are published. It reports whether the request is one.
func (r *Registry) manage(w http.ResponseWriter, q *http.Request) bool {
	rest, ok := strings.CutPrefix(q.URL.Path, api.V2+"/experts/")
	if !ok {
		return false
	}
	name, tag, tagged := strings.Cut(rest, "/tags/")
	key, isStatus := strings.CutSuffix(rest, "/status")
	switch {
	case q.Method == http.MethodGet:
		r.packaged(w, rest)
	case r.refuseKey(w, q):
	case tagged:
		r.changeTag(w, q, name, tag)
	case isStatus && q.Method == http.MethodPost:
		r.setStatus(w, q, key)
	case q.Method == http.MethodDelete:
		r.unpublish(w, rest)
	default:
		return false
	}
	return true
}

// refuseKey answers a request without the key that the registry wants.
func (r *Registry) refuseKey(w http.ResponseWriter, q *http.Request) bool {
	if r.Key == "" || q.Header.Get("Authorization") == "Bearer "+r.Key {
		return false
	}
	Fail(w, api.Error{Code: http.StatusUnauthorized, Message: "Unauthorized", Reason: "Failed to authenticate"})
	return true
}

func missing(w http.ResponseWriter, key string) {
	Fail(w, api.Error{Code: http.StatusNotFound, Message: "Not Found", Reason: "Expert not found: " + key})
}

// packaged answers with an Expert and its versions, the highest first.
func (r *Registry) packaged(w http.ResponseWriter, name string) {
	p := api.Package{Name: name, Tags: map[string]string{}, Visibility: api.Public, Owner: api.Organization{Name: "acme"}}
	for _, e := range r.experts {
		if e.Name == name {
			p.Versions = append(p.Versions, e.Version)
		}
	}
	if len(p.Versions) == 0 {
		missing(w, name)
		return
	}
	slices.SortFunc(p.Versions, func(a, b api.Version) int { return definition.CompareVersions(b.Version, a.Version) })
	p.Latest = p.Versions[0].Version
	p.Tags["latest"] = p.Latest
	for i := range p.Versions {
		v := &p.Versions[i]
		v.Tags = slices.Clone(v.Tags)
		if v.Version == p.Latest {
			v.Tags = append([]string{"latest"}, v.Tags...)
		}
		for _, tag := range v.Tags {
			p.Tags[tag] = v.Version
		}
	}
	Answer(w, p)
}

func (r *Registry) changeTag(w http.ResponseWriter, q *http.Request, name, tag string) {
	var to struct {
		Version string `json:"version"`
	}
	if q.Method == http.MethodPut {
		if err := json.UnmarshalRead(q.Body, &to); err != nil || r.experts[name+"@"+to.Version] == nil {
			missing(w, name+"@"+to.Version)
			return
		}
	}
	for _, e := range r.experts {
		if e.Name == name {
			e.Tags = slices.DeleteFunc(e.Tags, func(other string) bool { return other == tag })
		}
	}
	if to.Version != "" {
		e := r.experts[name+"@"+to.Version]
		e.Tags = append(e.Tags, tag)
		slices.Sort(e.Tags)
	}
	r.tags[name+"@"+tag] = r.append(&tlog.Leaf{Kind: tlog.Tagged, Name: name, Tag: tag, New: to.Version, Actor: "org:acme", Time: r.now()})
	Answer(w, map[string]any{})
}

func (r *Registry) setStatus(w http.ResponseWriter, q *http.Request, key string) {
	var to api.SetStatus
	e := r.experts[key]
	if err := json.UnmarshalRead(q.Body, &to); err != nil || e == nil {
		missing(w, key)
		return
	}
	e.Status, e.StatusMessage, e.ReplacedBy = to.Status, to.Message, to.ReplacedBy
	Answer(w, map[string]any{})
}

func (r *Registry) unpublish(w http.ResponseWriter, key string) {
	if k, err := expert.ParseKey(key); err != nil || r.experts[key] == nil || k.Version == "" {
		missing(w, key)
		return
	}
	delete(r.experts, key)
	Answer(w, map[string]any{})
}
