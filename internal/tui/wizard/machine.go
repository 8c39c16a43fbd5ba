package wizard

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/perstack-go/perstack/internal/tui/paint"
)

// A showMsg replaces the screen.
type showMsg struct{ screen screen }

// An endMsg says that there is nothing left to show.
type endMsg struct{}

// A machine is the tea.Model: the current screen, and the keys that mean the same on all of them.
type machine struct {
	palette       paint.Palette
	clock         func() time.Time
	leave         func()
	screen        screen // nil if there is none
	width, height int    // 0 until the terminal told
	last          time.Time
}

// Init begins with nothing.
func (*machine) Init() tea.Cmd { return nil }

// Update takes in a message. It does no input or output.
func (m *machine) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case showMsg:
		m.screen, m.last = msg.screen, m.clock()
	case endMsg:
		m.screen = nil
		return m, tea.Quit
	case tea.KeyPressMsg:
		now := m.clock()
		pause := now.Sub(m.last)
		m.last = now
		return m, m.press(msg.Keystroke(), msg.Text, pause)
	case tea.PasteMsg:
		if e, ok := m.screen.(*editor); ok {
			e.insert(msg.Content)
		}
		m.last = m.clock()
	}
	return m, nil
}

func (m *machine) press(name, text string, pause time.Duration) tea.Cmd {
	leaves := name == "ctrl+c" || name == "ctrl+q"
	switch m.screen.(type) {
	case *editor, *failure: // the letter means something else
	default:
		leaves = leaves || name == "q"
	}
	if leaves {
		if m.leave != nil {
			m.leave()
			m.leave = nil
		}
		m.screen = nil
		return tea.Quit
	}
	if m.screen != nil {
		m.screen.press(name, text, pause)
	}
	return nil
}

// View draws the screen below the line of the command.
func (m *machine) View() (v tea.View) {
	if m.screen == nil || m.width == 0 || m.height == 0 {
		return v
	}
	s := m.screen.render(m.width, m.height, m.palette)
	v.Content = m.palette.Screen(s.lines[:min(len(s.lines), m.height)])
	if s.cursor && s.y < m.height {
		v.Cursor = tea.NewCursor(s.x, s.y)
	}
	return v
}
