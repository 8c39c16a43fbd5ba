// Package rewind puts the files of a workspace back to a snapshot.
//
// [Make] decides what changes, from three states: the one to go back to, the present one, and what
// the job left. It is pure. What the job did not change is not touched, and what others changed
// after the job is a conflict. [Apply] carries a plan out. It follows no link, and touches nothing
// that changed since the plan was made.
//
// A restore is safe to repeat: the present state is stored before, as is the state that the plan
// leads to. After a crash, [Rest] returns what is left to do. Start reading at [Make].
package rewind
