// Package responses is a model behind OpenAI's Responses API.
//
// Every call streams, and the provider is asked to keep nothing: the whole conversation
// goes along each time. Thoughts therefore come encrypted, and go back as they came,
// before what followed them; so does what the provider ran itself. Each message is
// encoded once and its bytes are sent again and again.
//
// The package never reads the environment and never shows one model the marks of another.
// It tries a call a second time in one case only: an organisation that may not see
// summaries of thoughts is asked again without. Start reading at [New], then
// [Model.Generate].
package responses
