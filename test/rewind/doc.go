// Package rewind lets perstack work in random ways beside a user who edits files, takes the work
// back, and compares every file with a copy. It runs the program as users have it.
//
// Start reading at TestRandomWork.
package rewind
