// Package hostlink is the only connection between a container and the host: the document
// that goes in, and the lines that pass in both directions while a job runs.
//
// The engine in the container keeps no history. It hands out each event as a line and
// waits until the host says that it is written; only then does it act on it. So the
// journal is on the host's disk, in the host's hands, and nothing that was acted upon is missing
// in it, whatever happens to the container.
//
// What comes out of a container is hostile: lines have a limit, are decoded strictly, and
// what they say is checked by whoever receives it. What goes in holds secrets: it is
// written to standard input and nowhere else.
//
// Start reading at [Document], then [Up] and [Down]; [Store] is the history as the engine
// in the container sees it.
package hostlink
