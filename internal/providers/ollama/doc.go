// Package ollama is a model behind the chat API of an Ollama server, mostly one on this
// machine.
//
// Every call streams, as lines of JSON. Each message of a conversation is encoded once and
// its bytes are sent again and again. Parts that the API cannot take are replaced by a
// line that says so, so that one odd file does not end a job.
//
// A server of this kind cuts a conversation that is longer than its window, or becomes so
// while it answers, and says nothing. It is asked not to: a model that has lost its task
// works on, at something else.
//
// The package never reads the environment, never tries a call a second time (the engine
// does), but for one that was refused because the model cannot think, and never shows one
// model the thoughts of another. Start reading at [New], then [Model.Generate].
package ollama
