// Package chat is the Chat Completions API as two wires of the scripted server: as Azure
// OpenAI speaks it, below /openai, by deployments and by v1 addresses, and as DeepSeek
// does.
//
// It looks at a request as closely as the real services do, and refuses what they would
// refuse with the same status and the same kind of body. Where a service lets a member pass
// that it does not know, this one does not: a misspelt member would stay unseen. Start
// reading at [Azure], [DeepSeek] and [Request].
package chat
