// Package llm is a model's service for tests: an HTTP server that plays a script and
// speaks the streaming wire of Anthropic's Messages API (POST {base}/messages).
//
// It looks at a request as closely as the real service does, and answers what that
// would refuse with the same status and the same kind of body. What it accepts, it
// answers from the script; and it can answer badly in every way we have heard of.
// It asks nobody and keeps what it was asked in memory, for assertions: [Server.Requests].
// Start reading at [Parse] and [Server].
//
// A script is TOML and reads like a cassette (docs/cassettes.md): a [[turn]] is one
// answer, in the order in which they are needed.
//
//	[[turn]]
//	reasoning = "I should look at the notes first."
//	[[turn.call]]
//	tool = "readTextFile"
//	args = { path = "notes.txt" }
//
//	[[turn]]                       # the second turn fails at first,
//	[turn.error]
//	status = 529
//
//	[[turn]]                       # and is answered when it is tried again
//	text = "Your notes have three open points."
//	usage = { input = 120, output = 30, cached = 64 }
//
// # Which answer is given
//
// The first turn whose rules all hold. Rules look at the request alone, so that any
// number of conversations can go on at once and each gets the answers it always gets:
//
//	system    this text occurs in the system prompt; it tells Experts apart
//	query     this text occurs in the first message; it tells conversations of one Expert
//	          apart, at every turn
//	turn      the request has n-1 messages of the assistant
//	contains  this text occurs in the last message: what the user wrote or tools returned
//	attempt   it is the n-th time that this very body arrives
//
// Only attempt is counted, and for each body apart: conversations that must not share
// their attempts have to differ in a word. A turn without turn, attempt and contains is
// numbered among those with the same system and query. One that does not end in a whole answer
// (an error, a cut, a raw body) does not use up a number but an attempt, or all that are
// left if nothing follows it. A client that says something new after a failure, instead
// of the same again, is met with contains. A turn that can never be given is an error.
//
// # What an answer has
//
//	reasoning, signature  a thinking block; the signature is made from the text unless given
//	redacted              the data of a redacted thinking block
//	text                  what the model says, word by word; "" is an answer without output
//	[[turn.call]]         tool; args (a table), argsText (as it is, also broken) or depth
//	                      (nested lists); id, else toolu_<turn>_<n>; two may have the same
//	stop                  the stop reason, in the words of the wire, whatever it is; else
//	                      tool_use if there are calls, or end_turn
//	usage                 input, output, cached, cacheWrite, reasoning. When output is more
//	                      than the request's max_tokens, that many are counted and the stop
//	                      reason is max_tokens; the text stays
//	delay, eventDelay     a pause before the head, and before each event, like "20ms"; events
//	                      without a pause are written at once
//
// Thinking that comes back must bear the signature that the script gave it, or the
// request is refused, as the real service does.
//
// # What can go wrong
//
//	[turn.error]   status, type, message: an error in the place of an answer. The type
//	               follows from the status unless given. retryAfter and retryAfterMs are
//	               headers, sent as they are written
//	errorAfter     after n events of the stream comes the error, as an event
//	cutAfter       after n events the connection is cut
//	cutInside      true: half of the next event is sent before the cut
//	endAfter       after n events the stream ends as if that were all
//	redirect       the answer is a redirect to this URL (307, or error.status); {port}
//	               stands for the port of this server, so that another name of it, as in
//	               http://localhost:{port}/v1/messages, can play another host
//	raw            garbage    bytes that are no events
//	               html       a page, as a proxy sends it; error.status applies
//	               emptyBody  a head without a body; error.status applies
//	               wrongType  the answer, called application/json
//	               endless    text without an end, until mib (512)
//	               endlessPing  the same with pings
//	               hugeLine   an event of mib (100) in one line, then the rest
//	               deep       an event with lists nested depth (100000) deep, then the rest
//
// A script may start with key = "…", the only API key that is right; else that is [Key].
package llm
