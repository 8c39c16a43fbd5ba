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

// Exhaust leaves nothing of the budget for large answers that are being sent, and returns what gives it back.
func (h *Handler) Exhaust() (undo func()) {
	h.unread.giveBack(-maxUnread)
	return func() { h.unread.giveBack(maxUnread) }
}

// IsIdle reports whether the whole budget is there.
func (h *Handler) IsIdle() bool { return h.unread.take(maxUnread) }
