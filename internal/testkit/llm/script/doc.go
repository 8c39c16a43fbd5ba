// Package script is what a scripted model answers, in words that every wire can speak.
//
// A script is TOML and reads like a cassette (docs/cassettes.md): a [[turn]] is one
// answer, in the order in which they are needed. A [Wire] is how one API looks to its
// clients; the packages beside this one have them. Nothing here listens or dials: that is
// the server's part, in the package above. Start reading at [Parse], [Turn] and [Wire].
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
// number of conversations can run at once and each gets the answers it always gets:
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
//	reasoning, signature  a thought; the signature is made from the text unless given
//	redacted              encrypted reasoning
//	hosted                what the provider ran itself: a list of texts, each an object of
//	                      JSON in the words of the wire
//	text                  what the model says, word by word; "" is an answer without output
//	[[turn.call]]         tool; args (a table), argsText (as it is, also broken) or depth
//	                      (nested lists); id, else what the wire makes of its place; two may
//	                      have the same. reasoning and signature: a thought before the call
//	stop                  why it ended, in the words of the wire, whatever it is; "" gives
//	                      no reason. Else it follows from the rest
//	length                true: the answer was cut at the limit of the request
//	usage                 input, output, cached, cacheWrite, reasoning. When output is more
//	                      than the request's limit, that many are counted and the answer is
//	                      cut by length; the text stays
//	delay, eventDelay     a pause before the head, and before each event, like "20ms"; events
//	                      without a pause are written at once
//	silence               a pause after the first event, as of a server that collects a call
//	                      before it passes it on
//
// What servers of the user's own do besides: a call that comes as text is a text; a
// conversation that was cut is a usage whose input is too small; roles that the server does
// not know are dropped on the wire openai-compatible.
//
// Thoughts that come back must bear the signature that the script gave them, or the
// request is refused, as the real services do.
//
// # What can go wrong
//
//	[turn.error]   status or kind, message: an error in the place of an answer. The kinds
//	               are the same on every wire: invalidRequest, authentication, billing,
//	               permission, notFound, tooLarge, rateLimit, internal, unavailable, timeout,
//	               overloaded. type is the wire's own word, which else follows from the
//	               status. retryAfter and retryAfterMs are headers, sent as they are written
//	errorAfter     after n events of the stream comes the error, as the wire has it
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
//	               gzip       the answer, packed without being asked for
//	               gzipBomb   mib (200) of zeros, packed into little
//	               endless    text without an end, until mib (512)
//	               endlessPing  the same with pings, or words of no letters
//	               hugeLine   an event of mib (100) in one line, then the rest
//	               deep       an event with lists nested depth (100000) deep, then the rest
//
// How many events an answer has is the wire's business. A number below 0 counts from the
// end, so that endAfter = -1 leaves out the last event on every wire.
//
// A script may start with key = "…", the only API key that is right; else that is [Key].
package script
