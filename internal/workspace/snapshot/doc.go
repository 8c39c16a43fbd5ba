// Package snapshot keeps states of a workspace, so that what a job changed can be undone.
//
// A [Store] holds objects that are named by their content: blobs, lists of chunks, and trees. A
// [Taker] looks at a workspace and stores what is not stored yet. What has not changed since it
// looked last is not read again. [Diff] compares two trees.
//
// The package only reads the workspace, follows no link, and opens nothing but directories and
// regular files. It does not know of jobs: the caller keeps the id of a tree in the journal, and
// tells [Store.Collect] which trees are still needed. Putting files back is the work of
// internal/workspace/rewind. Start reading at [Taker.Take].
package snapshot
