// Package start is the command perstack start: Experts, conversations and the history of a project on
// one screen, by internal/tui.
//
// A project (project.go) is what the screen works with: journal.go reads its jobs, and task.go runs
// them as perstack run does.
package start
