package edit

// Key does what a key says, by the name that the terminal library gives it, and reports whether the
// key means something here. Enter sends the input, which is up to the caller, unless a search is open.
func (e *Editor) Key(name string) bool {
	if e.search != nil {
		switch name {
		case "ctrl+r":
			e.Search()
			return true
		case "backspace", "ctrl+h":
			e.shorten()
			return true
		case "esc", "ctrl+c", "ctrl+g":
			e.cancel()
			return true
		case "enter", "tab":
			e.accept()
			return true
		}
		if !e.known(name) {
			return false
		}
		e.accept()
	}
	switch name {
	case "up":
		return e.Up() || e.older()
	case "down":
		return e.Down() || e.newer()
	case "alt+enter", "shift+enter", "ctrl+j":
		return e.Newline() == nil
	}
	do := e.command(name)
	if do != nil {
		do()
	}
	return do != nil
}

// known reports whether a key means something.
func (e *Editor) known(name string) bool {
	switch name {
	case "up", "down", "alt+enter", "shift+enter", "ctrl+j":
		return true
	}
	return e.command(name) != nil
}

// command returns what a key does, or nil.
func (e *Editor) command(name string) func() {
	switch name {
	case "left":
		return e.Left
	case "right":
		return e.Right
	case "home", "ctrl+a":
		return e.Home
	case "end", "ctrl+e":
		return e.End
	case "ctrl+home":
		return e.Start
	case "ctrl+end":
		return e.Finish
	case "ctrl+left", "alt+left", "alt+b":
		return e.wordLeft
	case "ctrl+right", "alt+right", "alt+f":
		return e.wordRight
	case "backspace", "ctrl+h", "shift+backspace":
		return e.Backspace
	case "delete", "ctrl+d":
		return e.Delete
	case "ctrl+w":
		return e.deleteWord
	case "alt+backspace", "ctrl+backspace":
		return e.deleteWordLeft
	case "alt+d", "alt+delete", "ctrl+delete":
		return e.deleteWordRight
	case "ctrl+k":
		return e.deleteToEnd
	case "ctrl+u":
		return e.deleteToStart
	case "ctrl+r":
		return e.Search
	}
	return nil
}
