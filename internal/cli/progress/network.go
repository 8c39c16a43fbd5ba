package progress

import (
	"fmt"

	"github.com/perstack-go/perstack/event"
)

// This file shows what the proxy of a sandbox decided. What it refused is always shown,
// since it may be an attack, or a host that allowedDomains lacks. A program that tries
// again and again is not allowed to fill the screen: of the same refusal, those are shown
// whose number is a power of ten.

// maxRefusals bounds what is remembered: a program may make up hosts.
const maxRefusals = 1000

// A refusal is what makes two of them the same.
type refusal struct{ gate, domain, reason string }

// network returns the row of a decision.
func (p *Printer) network(b event.ProxyAccess) []row {
	host := fmt.Sprintf("%s:%d", b.Domain, b.Port)
	if b.Action == "allowed" {
		if !p.opts.Verbose {
			return nil
		}
		return note(green, "Network", "allowed "+host, b.Who())
	}
	summary := b.Action + " " + host
	if !p.opts.Verbose {
		n := p.refused(refusal{b.Gate, host, b.Reason})
		if !isPowerOfTen(n) {
			return nil
		}
		if n > 1 {
			summary += fmt.Sprintf(", %d times", n)
		}
	}
	text := b.Why()
	if who := b.Who(); who != "" && text != "" {
		text = who + ": " + text
	}
	return note(red, "Network", summary, text)
}

// refused counts a refusal.
func (p *Printer) refused(r refusal) int {
	if len(p.refusals) >= maxRefusals && p.refusals[r] == 0 {
		clear(p.refusals)
	}
	p.refusals[r]++
	return p.refusals[r]
}

func isPowerOfTen(n int) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}
