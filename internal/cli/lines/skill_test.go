package lines

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/event"
)

func servers() []event.Event {
	total := int64(1200)
	of := func(body event.Body) event.Event { return event.Event{JobID: "job1", RunID: "r1", Body: body} }
	return []event.Event{
		of(event.SkillStderr{SkillName: "web", Message: "fetching @a/web 1.2.3"}),
		of(event.SkillStarting{SkillName: "web", Command: "npx", Args: []string{"@a/web@1.2.3", "--quiet"}}),
		of(event.SkillStderr{SkillName: "web", Message: "listening"}),
		of(event.SkillConnected{SkillName: "web", ServerInfo: &event.ServerInfo{Name: "web", Version: "1.2.3"}, TotalDurationMS: &total}),
		of(event.SkillStderr{SkillName: "files", Message: "fetching b 2.0.0\x1b[2J"}),
		of(event.SkillDisconnected{SkillName: "web"}),
	}
}

// A person sees what is fetched and what is started; what a server says is for those who
// ask for it, and cannot be taken for what we say.
func TestServers(t *testing.T) {
	tests := []struct {
		opts Options
		want []string
	}{
		{Options{}, []string{
			"… skill web: fetching @a/web 1.2.3\n",
			"… skill web: npx @a/web@1.2.3 --quiet\n",
			"",
			"",
			"… skill files: fetching b 2.0.0\n",
			"",
		}},
		{Options{Verbose: true}, []string{
			"● Skill Output web\n  └ fetching @a/web 1.2.3\n",
			"● Skill Starting web\n  └ npx @a/web@1.2.3 --quiet\n",
			"● Skill Output web\n  └ listening\n",
			"● Skill Connected web\n  └ web 1.2.3, 1200 ms\n",
			"● Skill Output files\n  └ fetching b 2.0.0\n",
			"● Skill Disconnected web\n",
		}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, emit(t, tt.opts, servers()...)); diff != "" {
			t.Errorf("verbose %v (-want +got):\n%s", tt.opts.Verbose, diff)
		}
	}
}
