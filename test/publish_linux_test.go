package test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/testkit/registrytest"
	"github.com/perstack-go/perstack/internal/testkit/screen"
)

// A publisher is a user with a key, a project with two Experts, and a registry that has one of them.
type publisher struct {
	*consenting
	registry *registrytest.Registry
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{&consenting{t: t, dir: t.TempDir()}, registrytest.New(t, httptest.NewServer)}
	p.registry.Key = "secret-of-acme"
	p.registry.Publish(registrytest.Minimal("@acme/reader@1.0.0"), "").Status = api.Disabled
	p.registry.Publish(registrytest.Minimal("@acme/reader@1.1.0"), "").Tags = []string{"stable"}
	p.registry.Publish(registrytest.Minimal("@acme/reader@1.2.0"), "")
	home := t.TempDir()
	config := filepath.Join(home, "config", "perstack")
	if err := os.MkdirAll(config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte("[registries.default]\nurl = \""+p.registry.URL+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = screen.Environ("HOME="+home, "XDG_CONFIG_HOME="+filepath.Dir(config), "XDG_STATE_HOME="+filepath.Join(home, "state"), "PERSTACK_API_KEY=secret-of-acme")
	p.write("perstack.toml", "[experts.\"@acme/lead\"]\ndescription = \"Leads\"\ninstruction = \"Lead.\"\n[experts.\"@acme/reader\"]\ndescription = \"Reads\"\ninstruction = \"Read.\"\nversion = \"2.0.0\"\n")
	return p
}

// start runs a command on a terminal.
func (p *publisher) start(args ...string) *screen.Terminal {
	cmd := exec.Command("perstack", args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return screen.Start(p.t, cmd, 70, 12)
}

// confirms presses Enter where the key counts only after a pause: as a user would, until it does.
func confirms(term *screen.Terminal, done string) screen.Screen {
	for {
		term.Send("\r")
		if s := term.WaitFor(done+" or a note", func(s screen.Screen) bool { return s.Contains(done) || s.Contains("press Enter again") }); s.Contains(done) {
			return s
		}
		time.Sleep(350 * time.Millisecond) // the pause that the screen asks for
	}
}

const downKey, upKey, escKey = "\x1b[B", "\x1b[A", "\x1b"

// Without arguments, the commands about versions ask on screens.
func TestPublisherScreens(t *testing.T) {
	t.Run("status", func(t *testing.T) {
		p := newPublisher(t)
		term := p.start("status")
		term.WaitForText("q quit").Golden(t, "status_expert")
		term.Send(upKey + "\r") // the last one
		term.WaitForText("Select a version of @acme/reader:").Golden(t, "status_version")
		term.Send(downKey + "\r")
		term.WaitForText("Select status for @acme/reader@1.1.0:").Golden(t, "status_status")
		term.Send("\r")
		term.WaitForText("Change the status of @acme/reader@1.1.0?").Golden(t, "status_confirm")
		s := confirms(term, "  Status: deprecated")
		if code, _ := term.WaitRestored(); code != 0 || strings.Contains(s.Text(), "Confirm") || !s.Contains("Updated @acme/reader@1.1.0") {
			t.Errorf("exit code %d:\n%s", code, s.Text())
		}
		if got := p.registry.PublishedExpert("@acme/reader@1.1.0").Status; got != api.Deprecated {
			t.Errorf("it is %s", got)
		}
	})
	t.Run("a disabled version", func(t *testing.T) {
		term := newPublisher(t).start("status")
		term.WaitForText("q quit")
		term.Send(downKey + "\r")
		term.WaitForText("Select a version")
		term.Send(upKey + "\r")
		term.WaitForText("Select status for @acme/reader@1.0.0:") // the registry decides what can follow
		term.Send("\x7f")
		term.WaitForText("Select a version")
		term.Send("\x7f")
		term.WaitForText("Select an Expert to change status:")
		term.Send("q")
		term.WaitForText("Cancelled")
		if code, _ := term.WaitRestored(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("tag", func(t *testing.T) {
		p := newPublisher(t)
		term := p.start("tag")
		term.WaitForText("Select an Expert to tag:")
		term.Send("\r")
		term.WaitForText(`Error: expert "@acme/lead" not found in registry`)
		term.Send("\r")
		term.WaitForText("Select an Expert to tag:")
		term.Send(downKey + "\r")
		term.WaitForText("Select a version of @acme/reader:")
		term.Send("\r")
		term.WaitForText("[latest - auto-managed]").Golden(t, "tag_input")
		term.Send("lts, latest\r")
		term.WaitForText("'latest' tag is managed automatically and was removed")
		term.Send(", next\r")
		term.WaitForText("Tags: (none) → lts, next").Golden(t, "tag_confirm")
		confirms(term, "  Tags: lts, next")
		if code, _ := term.WaitRestored(); code != 0 {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("unpublish", func(t *testing.T) {
		p := newPublisher(t)
		term := p.start("unpublish")
		term.WaitForText("Select an Expert to unpublish:")
		term.Send(downKey + "\r")
		term.WaitForText("Select a version of @acme/reader to unpublish:")
		term.Send("\r")
		term.WaitForText("Unpublish @acme/reader@1.2.0?").Golden(t, "unpublish_confirm")
		confirms(term, "Select a version") // Cancel is selected
		term.Send("\r")
		term.WaitForText("Unpublish @acme/reader@1.2.0?")
		term.Send(escKey)
		term.WaitForText("Select a version")
		if p.registry.PublishedExpert("@acme/reader@1.2.0") == nil {
			t.Error("it is gone")
		}
		term.Send("\r")
		term.WaitForText("Yes, unpublish")
		term.Send(upKey)
		confirms(term, "Unpublished @acme/reader@1.2.0")
		if code, _ := term.WaitRestored(); code != 0 || p.registry.PublishedExpert("@acme/reader@1.2.0") != nil {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("publish", func(t *testing.T) {
		p := newPublisher(t)
		term := p.start("publish")
		term.WaitForText("Select an Expert to publish:")
		term.Send(downKey + "\r")
		term.WaitForText("[y/N]")
		term.Send("y\r")
		term.WaitForText("Published @acme/reader@2.0.0")
		if code, _ := term.WaitRestored(); code != 0 || p.registry.PublishedExpert("@acme/reader@2.0.0") == nil {
			t.Errorf("exit code %d", code)
		}
	})
	t.Run("left", func(t *testing.T) {
		for _, key := range []string{"q", escKey, screen.Ctrl('c')} {
			term := newPublisher(t).start("publish")
			term.WaitForText("Select an Expert to publish:")
			term.Send(key)
			s := term.WaitForText("Cancelled")
			if code, _ := term.WaitRestored(); code != 0 || s.Contains("Select") {
				t.Errorf("%q: exit code %d:\n%s", key, code, s.Text())
			}
		}
	})
}

// Where no screen can be drawn, the commands say which arguments they need.
func TestPublisherWithoutScreens(t *testing.T) {
	p := newPublisher(t)
	p.env = append(p.env, "ACCESSIBLE=1")
	term := p.start("unpublish")
	term.WaitForText("no version given; name one, like perstack unpublish")
	if code, _ := term.Wait(); code != 2 {
		t.Errorf("exit code %d", code)
	}
}
