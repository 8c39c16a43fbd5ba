package httpapi

import "net/http"

// OpenAPI is the document.
func OpenAPI() []byte { return openAPI }

// PatternOf is the path of a request in the document; "" if it has none.
func PatternOf(r *http.Request) string {
	h := &Handler{}
	h.routes = h.table()
	if found, _, _ := h.find(r); found != nil {
		return found.pattern
	}
	return ""
}
