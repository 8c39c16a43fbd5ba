// Package approval decides which tool calls are carried out, which are asked about, and which are
// refused.
//
// Rules come from the project, the user and the machine, and grants from earlier answers. The
// strictest matching rule counts; without one, a preset does. A decision is made from a [Request]
// alone: the package opens no file and asks no one. Commands are compared word by word, as the
// program gets them. Text for a shell is never parsed.
//
// Rules state what a user intends. They are no barrier: a program that is allowed to run can start
// others. The sandbox is the barrier. Start reading at [Policy.Decide].
package approval
