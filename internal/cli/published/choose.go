package published

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/perstack-go/perstack/expert"
	"github.com/perstack-go/perstack/internal/cli/host"
	"github.com/perstack-go/perstack/internal/registry/api"
	"github.com/perstack-go/perstack/internal/registry/client"
	"github.com/perstack-go/perstack/internal/terminal"
	"github.com/perstack-go/perstack/internal/tui/paint"
	"github.com/perstack-go/perstack/internal/tui/wizard"
)

// CanChoose reports whether screens can be shown.
func CanChoose(h *host.Host) bool {
	in, _ := h.Terminal()
	accessible := h.Getenv("ACCESSIBLE")
	return in != nil && !h.NoInput && h.Getenv("TERM") != "dumb" && (accessible == "" || accessible == "0")
}

// Screens shows the screens of a wizard. left reports that the user left without a result, which has been
// said.
func (s *Session) Screens(ctx context.Context, steps func(ctx context.Context, w *wizard.Wizard) error) (left bool, err error) {
	if s.Config == nil || len(s.Config.Experts) == 0 {
		return false, host.Usagef("no experts defined in perstack.toml")
	}
	h := s.Host
	in, out := h.Terminal()
	if in == nil {
		return false, errors.New("there is no terminal")
	}
	err = wizard.Run(ctx, wizard.Options{
		In: in, Out: out, Environ: h.Environ, Clock: h.Source.Now,
		Palette: paint.Palette{Color: h.Colors(), Unicode: h.UTF8()},
	}, func(ctx context.Context, w *wizard.Wizard) error {
		before := h.Confirmer
		h.Confirmer = func(ctx context.Context, question string) (bool, error) { return confirm(ctx, w, question) }
		defer func() { h.Confirmer = before }()
		return steps(ctx, w)
	})
	if errors.Is(err, wizard.ErrLeft) {
		_, err = fmt.Fprintln(h.Stdout, "Cancelled")
		return true, err
	}
	return false, err
}

// confirm asks a question that has nothing to do with the wizard itself.
func confirm(ctx context.Context, w *wizard.Wizard, question string) (bool, error) {
	at, err := w.Choose(ctx, wizard.Choice{
		Title: paint.Text(terminal.CleanLine(question), paint.Bold), Enter: "select", Careful: true,
		Rows: []paint.Line{paint.Text("No", 0), paint.Text("Yes", 0)},
	})
	return at == 1, err
}

// ChooseExpert lets the user choose an Expert of the file.
func (s *Session) ChooseExpert(ctx context.Context, w *wizard.Wizard, title string) (*expert.Expert, error) {
	var rows []paint.Line
	for _, e := range s.Config.Experts {
		row := paint.Text(terminal.CleanLine(e.Name), 0)
		if e.Description != "" {
			row = paint.Join(row, paint.Text(" - "+terminal.CleanLine(e.Description), paint.Quiet))
		}
		rows = append(rows, row)
	}
	at, err := w.Choose(ctx, wizard.Choice{Title: paint.Text(title, paint.Bold), Rows: rows, Enter: "select"})
	if err != nil {
		return nil, err
	}
	return s.Config.Experts[at], nil
}

// A Chosen is a version that the user chose.
type Chosen struct {
	Registry *Registry
	Key      expert.Key // exact
	Version  api.Version
}

// ChooseVersion lets the user choose an Expert of the file and a version of it, and then asks for more.
// title is that of the Experts, and more ends that of the versions. If then returns [wizard.ErrBack], the
// user chooses again.
func (s *Session) ChooseVersion(ctx context.Context, w *wizard.Wizard, title, more string, then func(Chosen) error) error {
	for {
		e, err := s.ChooseExpert(ctx, w, title)
		if err != nil {
			return err
		}
		w.Busy("Loading versions for " + terminal.CleanLine(e.Name) + "...")
		r, versions, err := s.versions(ctx, e.Name)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			if err := w.Fail(ctx, terminal.CleanLine(host.Advise(err.Error()))); err != nil {
				return err
			}
			continue
		}
		if err := chooseVersion(ctx, w, r, e.Name, versions, more, then); !errors.Is(err, wizard.ErrBack) {
			return err
		}
	}
}

// versions are those of an Expert in its registry.
func (s *Session) versions(ctx context.Context, name string) (*Registry, []api.Version, error) {
	r, err := s.Registry(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	p, err := r.Package(ctx, name)
	switch {
	case client.KindOf(err) == client.NotFound:
		return nil, nil, fmt.Errorf("expert %q not found in registry %s", name, r.Client.URL())
	case err != nil:
		return nil, nil, r.Explain(err)
	case len(p.Versions) == 0:
		return nil, nil, fmt.Errorf("no versions found for %s", name)
	}
	return r, p.Versions, nil
}

func chooseVersion(ctx context.Context, w *wizard.Wizard, r *Registry, name string, versions []api.Version, more string, then func(Chosen) error) error {
	var rows []paint.Line
	for i := range versions {
		rows = append(rows, versionRow(&versions[i]))
	}
	at := 0
	for {
		var err error
		at, err = w.Choose(ctx, wizard.Choice{
			Title: paint.Text("Select a version of "+name+more+":", paint.Bold), Rows: rows, At: at, Back: true, Enter: "select",
		})
		if err != nil {
			return err
		}
		v := versions[at]
		err = then(Chosen{Registry: r, Key: expert.Key{Name: name, Version: v.Version}, Version: v})
		if !errors.Is(err, wizard.ErrBack) {
			return err
		}
	}
}

// versionRow shows a version with its tags and its status, as the registry says them.
func versionRow(v *api.Version) paint.Line {
	row := paint.Text(terminal.CleanLine(v.Version), 0)
	if len(v.Tags) > 0 {
		row = paint.Join(row, paint.Text(" ["+terminal.CleanLine(strings.Join(v.Tags, ", "))+"]", paint.Magenta))
	}
	return paint.Join(row, paint.Text(" ", 0), Status(v.Status))
}

// Status shows a status in its colour.
func Status(status string) paint.Line {
	style := map[string]paint.Style{api.Available: paint.Green, api.Deprecated: paint.Bold, api.Disabled: paint.Red, api.Quarantined: paint.Red}[status]
	return paint.Text(terminal.CleanLine(status), style)
}

// Arrow is between what was and what will be.
func Arrow(h *host.Host) string {
	if h.UTF8() {
		return " → "
	}
	return " -> "
}
