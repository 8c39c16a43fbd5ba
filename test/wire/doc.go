// Package wire holds the wires of model/... and the scripted servers of the testkit
// against the providers' own SDKs. It is a module of its own, so that the SDKs and all
// they bring along stay out of the product.
//
// Both directions are looked at. What we send has to survive the SDK: decoded into its
// parameter types and sent by its client, it is the same body. What the scripted server
// sends has to mean the same to the SDK's client as to ours; so the tests that lean on
// that server lean on more than our own reading of the documents.
//
// There is nothing but tests here, and none of them leaves this machine. Start reading
// at TestAnthropic. A missing SDK is a build failure, not a skipped test.
package wire
