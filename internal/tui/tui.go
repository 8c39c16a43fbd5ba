// Package tui is the full-screen program, perstack start: Experts, conversations, questions, the
// history of a project and its branches on one screen.
//
// Everything that it shows of a job is what internal/narrate folds from its events, as perstack run
// and perstack log do. It starts no engine and opens no file: a [Project] does. Update does no input
// or output; whatever can take time is a command. Start reading at [Project].
package tui
