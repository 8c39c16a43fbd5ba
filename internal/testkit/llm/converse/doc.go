// Package converse is Amazon Bedrock's side of the ConverseStream API, for the scripted
// server: frames with their checksums, signatures that are computed anew from the
// request, and what the service refuses, in its own words.
package converse
