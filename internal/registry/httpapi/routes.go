package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/server"
)

// table lists all routes. What comes first counts.
func (h *Handler) table() []*route {
	all := slices.Concat(
		[]*route{
			{method: http.MethodGet, pattern: "/healthz", effect: free, do: h.health},
			{method: http.MethodGet, pattern: "/readyz", effect: free, do: h.ready},
			{method: http.MethodGet, pattern: api.DiscoveryPath, effect: reads, do: h.discovery},
			{method: http.MethodGet, pattern: api.V2 + "/openapi.json", effect: reads, do: h.document},
		},
		h.logRoutes(),
		h.version1(),
		h.version2(),
		h.trusted(),
		h.moderation(),
	)
	for _, r := range all {
		r.segments = strings.Split(strings.TrimPrefix(r.pattern, "/"), "/")
	}
	return all
}

// version2 lists the routes of our API.
func (h *Handler) version2() []*route {
	return []*route{
		{method: http.MethodPost, pattern: api.V2 + "/resolve", effect: reads, heavy: true, do: h.resolve},
		{method: http.MethodGet, pattern: api.V2 + "/experts", effect: reads, heavy: true, do: h.search},
		{method: http.MethodPost, pattern: api.V2 + "/experts", effect: publishes, do: h.publish},
		{method: http.MethodGet, pattern: api.V2 + "/experts/{key}", effect: reads, heavy: true, do: h.expertPackage},
		{method: http.MethodGet, pattern: api.V2 + "/experts/{key}/content", effect: reads, heavy: true, do: h.content},
		{method: http.MethodGet, pattern: api.V2 + "/experts/{key}/card", effect: reads, heavy: true, do: h.card},
		{method: http.MethodDelete, pattern: api.V2 + "/experts/{key}", effect: changes, do: h.unpublish},
		{method: http.MethodPost, pattern: api.V2 + "/experts/{key}/status", effect: changes, do: h.setStatus},
		{method: http.MethodPut, pattern: api.V2 + "/experts/{name}/tags/{tag}", effect: changes, do: h.setTag},
		{method: http.MethodDelete, pattern: api.V2 + "/experts/{name}/tags/{tag}", effect: changes, do: h.removeTag},
		{method: http.MethodPost, pattern: api.V2 + "/experts/{name}/transfer", effect: changes, do: h.transfer},
		{method: http.MethodDelete, pattern: api.V2 + "/experts/{name}/transfer", effect: changes, do: h.endTransfer},
		{method: http.MethodGet, pattern: api.V2 + "/transfers", effect: reads, do: h.transfers},
		{method: http.MethodGet, pattern: api.V2 + "/index/{name}", effect: reads, heavy: true, do: h.index},
		{method: http.MethodGet, pattern: api.V2 + "/changes", effect: reads, do: h.changes},
		{method: http.MethodGet, pattern: api.V2 + "/whoami", effect: reads, do: h.whoami},
		{method: http.MethodGet, pattern: api.V2 + "/orgs", effect: reads, do: h.organizations},
		{method: http.MethodPost, pattern: api.V2 + "/orgs", effect: changes, do: h.createOrganization},
		{method: http.MethodPut, pattern: api.V2 + "/orgs/{org}/policy", effect: changes, do: h.setPolicy},
		{method: http.MethodGet, pattern: api.V2 + "/keys", effect: reads, do: h.keys},
		{method: http.MethodPost, pattern: api.V2 + "/keys", effect: changes, do: h.createKey},
		{method: http.MethodDelete, pattern: api.V2 + "/keys/{id}", effect: changes, urgent: true, do: h.revokeKey},
	}
}

// identify finds out whose request it is. A key that is not good is refused, except that the first version of
// the API reads without one.
func (c *call) identify() error {
	header := c.r.Header.Get("Authorization")
	c.by = server.Actor{Address: c.address.String(), RequestID: c.id}
	if header == "" || c.route.effect == free {
		return nil
	}
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	if err := c.checkFailures(); err != nil {
		return err
	}
	by, err := c.h.opts.Registry.Authenticate(c.ctx(), strings.TrimSpace(token), c.address)
	if err != nil {
		if isStatus(err, http.StatusUnauthorized) {
			c.countFailure()
			c.auditFailure(err)
		}
		if isStatus(err, http.StatusUnauthorized) && c.route.effect == reads && strings.HasPrefix(c.route.pattern, api.V1+"/") {
			return nil
		}
		return err
	}
	by.Address, by.RequestID = c.by.Address, c.by.RequestID
	c.by = by
	return nil
}
