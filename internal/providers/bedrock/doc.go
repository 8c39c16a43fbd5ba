// Package bedrock is a model behind Amazon Bedrock's ConverseStream API, of any family:
// Claude, Nova, Llama, Mistral and what else takes messages there.
//
// Every call streams, in AWS's binary framing, and is signed anew over its body, unless a
// bearer token speaks for it. Each message of a conversation is encoded once and its
// bytes are sent again and again; what moves from call to call, the points of the prompt
// cache and the numbers of documents, is put in between. What only some families take is
// sent to those alone; what a model refuses all the same, the service says in its own
// words.
//
// The package never reads the environment or a profile, never tries a call a second time
// (the engine does) and never shows one model the signed thoughts of another. Start
// reading at [New], then [Model.Generate].
package bedrock
