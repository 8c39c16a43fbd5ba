package test

import "github.com/perstack-go/perstack/internal/testkit/screen"

// initScreen makes this program able to lead the session of a terminal.
func initScreen() { screen.Init() }
