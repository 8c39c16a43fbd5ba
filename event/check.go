package event

import "strings"

// Skipped says why nobody probed, if so: what the check is about was not wanted. Such a
// check is ok and proves nothing.
func (b SandboxCheck) Skipped() (why string, ok bool) {
	why, ok = strings.CutPrefix(b.Message, "not wanted: ")
	return why, ok && b.OK
}
