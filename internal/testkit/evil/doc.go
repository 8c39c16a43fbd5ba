// Package evil plays the attacker: workspaces and repositories that are made to get
// past path checks, and an MCP server that misbehaves in every way we have heard of.
//
// It is for tests, of this repository and of the machine that perstack runs on. All of
// it is harmless elsewhere: it writes below the directory it is given, starts a bounded
// number of processes that end by themselves, dials this machine only, and what it finds
// of somebody's secrets it counts and does not repeat, unless they carry the marker that
// the test planted.
//
//	tree := evil.Workspace(t)                  // a hostile workspace, and a canary tree beside it
//	for _, a := range tree.Attacks() { … }     // what to try, and how each must end
//	tree.Check(t)                              // nothing outside was touched
//	tree.Leaked(text)                          // which secrets a text gives away
//
//	swapper := evil.StartSwapping(t, n, …)     // another process swaps a directory and a link
//
//	dir := evil.Repository(t, "moved-base-url") // one kind of published incident, unpacked
//
//	err := evil.Serve(ctx, evil.Options{Mode: "rug-pull", In: r, Out: w, State: file})
//
// The server speaks JSON-RPC by hand, since a library would not let it lie. The program
// evilmcp in the directory of that name serves a mode on its standard streams and has the
// attacks as plain commands too. Start reading at [Build] for workspaces, at [Repositories]
// and at [Modes].
package evil
