// Package gemini is a model behind Google's generateContent: of the Gemini API, with a key,
// or of Vertex AI, with a token of Google Cloud.
//
// Every call streams. Each message of a conversation is encoded once and its bytes are sent
// again and again; results of tools are put behind the calls that asked for them when a
// request is put together, because the API counts them. Parts that it cannot take are
// replaced by a line that says so, so that one odd file does not end a job.
//
// The package never reads the environment or a file, never tries a call a second time (the
// engine does), and never sends one model the signatures of another. Start reading at
// [New], then [Model.Generate]; tokens are made by [TokenSource].
package gemini
