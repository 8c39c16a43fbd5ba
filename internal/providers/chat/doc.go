// Package chat is a model behind the Chat Completions API, in two dialects: that of Azure
// OpenAI, and that of DeepSeek.
//
// Every call streams. Each message of a conversation is encoded once, and its bytes are
// sent again and again. The API has no room for media in the result of a tool: they
// follow in a message of their own, after the last result. What a dialect cannot take is
// replaced by a line that says so, so that one odd file does not end a job.
//
// The package never reads the environment, never tries again what failed (the engine
// does) and never shows one model the thoughts of another. Start reading at [New], then
// [Model.Generate].
package chat
