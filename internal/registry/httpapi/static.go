package httpapi

import (
	"net/http"
	"slices"
	"strings"
)

// static answers with bytes that caches can keep. It says so only if the client does not have them already.
func (c *call) static(kind, tag, caching string, data []byte) error {
	header := c.w.Header()
	header.Set("Cache-Control", caching)
	header.Set("ETag", `"`+tag+`"`)
	if slices.ContainsFunc(strings.Split(c.r.Header.Get("If-None-Match"), ","), func(have string) bool {
		have = strings.TrimSpace(have)
		return have == "*" || strings.TrimPrefix(have, "W/") == `"`+tag+`"`
	}) {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	c.write(http.StatusOK, kind, data)
	return nil
}

// What caches can do with an answer.
const (
	immutable = "public, max-age=31536000, immutable"
	fresh     = "no-cache" // kept, but compared before each use
)
