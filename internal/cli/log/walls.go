package log

import (
	"slices"
	"strings"

	"github.com/perstack-go/perstack/event"
	"github.com/perstack-go/perstack/expert"
)

// noWalls is a stretch of a Run for which nobody chose any. Single skills may have had
// cells nevertheless, if the file says so.
const noWalls = "none for the whole run"

// walls says what stood around a Run.
func walls(b event.StartRun) string {
	var chosen event.Walls
	if b.Walls != nil {
		chosen = *b.Walls
	}
	var words []string
	switch {
	case b.Runtime == expert.DockerRuntime && chosen.SharedCell:
		words = append(words, "docker", "one shared cell for all skills (--shared-cell)")
	case b.Runtime == expert.DockerRuntime:
		words = append(words, "docker", "a cell for each skill")
	case chosen.Sandbox:
		words = append(words, "a cell for each skill (--sandbox)")
	default:
		return noWalls
	}
	if chosen.Proxy != "" {
		words = append(words, "out by "+chosen.Proxy)
	}
	if chosen.ReadOnlyWorkspace {
		words = append(words, "workspace read-only")
	}
	if chosen.BaseImage != "" {
		words = append(words, "on the image "+chosen.BaseImage)
	}
	if len(chosen.Env) > 0 {
		words = append(words, "commands get "+strings.Join(chosen.Env, " "))
	}
	return strings.Join(words, ", ")
}

// around takes what a start says of walls. A Run that is resumed may have others, and the
// first ones must not hide that.
func (h *runHead) around(b event.StartRun) {
	if w := walls(b); len(h.walls) == 0 || h.walls[len(h.walls)-1] != w {
		h.walls = append(h.walls, w)
	}
}

// printWalls says nothing where there was never anything.
func (h *runHead) printWalls(p *printer) {
	if !slices.Equal(h.walls, []string{noWalls}) {
		p.given("Walls", strings.Join(h.walls, "; then "))
	}
}
