// Package attack has two programs that run beside each other in one container, as skills of
// one Expert do: a victim with a secret, and an attacker that tries to get it.
//
// The victim keeps its secret in every place where programs keep secrets. It writes a
// [Target] that tells the attacker what it could not know otherwise: process ids, names of
// directories, the token of its listener. The attacker reads the target and tries everything
// ([Attack]). Each [Result] is the outcome of one attempt; [Wants] has the right outcomes.
//
// The programs do no harm elsewhere: they send only signals without effect, and change only
// files of their own.
package attack
