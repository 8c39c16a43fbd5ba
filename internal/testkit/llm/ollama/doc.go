// Package ollama is the chat API of an Ollama server, as a scripted server speaks it.
//
// The real server is lenient: members that it does not know are nothing to it, and it has
// no key. What it refuses, it refuses because it cannot read it into its types, schemas of
// tools included, or because the model cannot do it. Which models can think is known to
// each server alone; on this one, those whose names begin with gemma cannot, and those
// whose names begin with missing are not there.
//
// A result for a call that nobody made is refused as well. The real server would show it
// to the model, and nobody would learn of the mistake. Start reading at [Wire].
package ollama
