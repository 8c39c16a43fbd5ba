// Package anthropic is a model behind Anthropic's Messages API.
//
// Every call streams. Each message of a conversation is encoded once and its bytes are
// sent again and again; what moves from call to call, the mark of the prompt cache, is
// spliced in between. Parts that the API cannot take are replaced by a line that says
// so, so that one odd file does not end a job. Blocks that we do not know, and what the
// provider ran itself, are kept as they came and sent back so.
//
// The package never reads the environment, never tries a call a second time (the engine
// does) and never shows one model the signed thoughts of another. Start reading at
// [New], then [Model.Generate].
package anthropic
