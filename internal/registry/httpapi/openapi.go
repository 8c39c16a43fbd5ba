package httpapi

import _ "embed"

// openAPI describes the API. It is written by hand: a test compares it with the routes and the types, and
// every answer in the tests with what it says.
//
//go:embed openapi.json
var openAPI []byte

func (h *Handler) document(c *call) error {
	return c.static("application/json", tagOf(openAPI), fresh, openAPI)
}
