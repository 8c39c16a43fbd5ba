// Package gemini is Google's generateContent, streamed, as the scripted server speaks it:
// that of the Gemini API, and that of Vertex AI with its token server.
//
// Where the service ignores nothing it does not know, neither does this. A signature names
// the part that it was given with: on another part, or changed, it is refused.
package gemini
