package probe

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// sorted gives rows that come from a map the same order every time.
func sorted(rows []Row) []Row {
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.ID, b.ID) })
	return rows
}

// spellingRows write hosts in ways that two programs may read differently. However they are
// read, only the allowed host may be reached or looked up.
func spellingRows(c Config) []Row {
	open, blocked := c.Open(), c.name("blocked.test")
	var rows []Row
	add := func(id, target string) {
		rows = append(rows, Row{ID: "spell-" + id, Promise: "N4", What: fmt.Sprintf("%.70q", target), Want: []string{Refused}, Event: "blocked", run: func(ctx context.Context, p *Probe) Result {
			return p.request(ctx, connect(target), open)
		}})
	}
	// Spellings of the one name, which is reached or refused, but never another one.
	same := func(id, target string) {
		rows = append(rows, Row{ID: "spell-" + id, Promise: "N4", What: fmt.Sprintf("%.70q", target), Want: []string{Reached, Refused}, Event: "any " + open, Asks: open, run: func(ctx context.Context, p *Probe) Result {
			return p.request(ctx, connect(target), open)
		}})
	}
	same("upper", strings.ToUpper(open)+":443")
	same("dot", open+".:443")

	add("two-dots", open+"..:443")
	add("dot-blocked", blocked+".:443")
	add("upper-blocked", strings.ToUpper(blocked)+":443")
	add("leading-dot", "."+open+":443")
	add("no-port", open)
	add("empty-port", open+":")
	add("zero-port", open+":0")
	add("long-port", open+":0443")
	add("signed-port", open+":+443")
	add("wrapped-port", open+":65979") // 443 + 65536
	add("named-port", open+":https")
	add("two-ports", open+":443:443")
	add("port-blank", open+": 443")
	add("user", "user@"+open+":443")
	add("user-blocked", open+"@"+blocked+":443")
	add("user-port", open+":443@"+blocked+":443")
	add("password", "a:b@"+open+":443")
	add("percent", strings.Replace(open, ".", "%2e", 1)+":443")
	add("percent-nul", open+"%00."+blocked+":443")
	add("nul", open+"\x00."+blocked+":443")
	add("cr-lf", open+":443\r\nX-Injected: yes")
	add("cr-lf-host", blocked+":443 HTTP/1.1\r\nHost: "+open+":443\r\n\r\nCONNECT "+open+":443")
	add("line-feed", blocked+"\n."+open+":443")
	add("tab", open+"\t:443")
	add("blank", blocked+" "+open+":443")
	add("scheme", "https://"+open+":443")
	add("slash", blocked+":443/"+open+":443")
	add("backslash", blocked+`:443\@`+open+":443")
	add("fragment", blocked+":443#@"+open+":443")
	add("query", blocked+":443?@"+open+":443")
	add("semicolon", open+";"+blocked+":443")
	add("comma", open+","+blocked+":443")
	add("brackets", "["+open+"]:443")
	add("star", "*."+c.Wild()+":443")
	add("underscore", "a_b."+c.Wild()+":443")
	add("hyphen", "-a."+c.Wild()+":443")
	add("punycode", "xn--e1afmkfd."+c.Wild()+":443")
	add("cyrillic", "\u0430-"+strings.TrimPrefix(open, "a-")+":443")
	add("ideographic-dot", strings.Replace(open, ".", "\u3002", 1)+":443")
	add("full-width", "\uff41"+strings.TrimPrefix(open, "a")+":443")
	add("kelvin", "\u212aa."+c.Wild()+":443")
	add("soft-hyphen", "a\u00ad"+strings.TrimPrefix(open, "a")+":443")
	add("bidi", "\u202e"+open+":443")
	add("long-label", strings.Repeat("a", 64)+"."+c.Wild()+":443")
	add("long-name", strings.Repeat("a.", 130)+c.Wild()+":443")
	add("huge-name", strings.Repeat("a.", 4000)+c.Wild()+":443")
	add("endless-name", strings.Repeat("a", 100_000)+"."+c.Wild()+":443")
	add("nothing", ":443")
	add("root", ".:443")

	trap := netip.MustParseAddr(c.Trap)
	b := trap.As4()
	number := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	for id, host := range map[string]string{
		"public": trap.String(), "decimal": fmt.Sprint(number), "hex": fmt.Sprintf("0x%08x", number), "octal": fmt.Sprintf("0%o.0%o.0%o.0%o", b[0], b[1], b[2], b[3]),
		"hex-parts": fmt.Sprintf("0x%x.0x%x.0x%x.0x%x", b[0], b[1], b[2], b[3]), "dot": trap.String() + ".", "three": fmt.Sprintf("%d.%d.%d", b[0], b[1], int(b[2])<<8|int(b[3])),
		"mapped": "[::ffff:" + trap.String() + "]", "mapped-hex": fmt.Sprintf("[::ffff:%02x%02x:%02x%02x]", b[0], b[1], b[2], b[3]), "nat64": "[64:ff9b::" + trap.String() + "]", "bare-six": "::ffff:" + trap.String(),
		"web": c.Web, "provider": c.LLM, "loopback": "127.0.0.1", "loopback-decimal": "2130706433", "loopback-short": "127.1", "loopback-octal": "0177.0.0.1", "loopback-six": "[::1]",
		"zero": "0.0.0.0", "zero-short": "0", "zero-six": "[::]", "metadata": "169.254.169.254", "metadata-decimal": "2852039166", "private": "10.0.0.1", "shared": "100.64.0.1",
		"link": "[fe80::1]", "link-zone": "[fe80::1%25eth0]", "link-raw-zone": "[fe80::1%eth0]", "local-six": "[fd00::1]", "public-six": "[2606:4700:4700::1111]", "full-width": "\uff11\uff12\uff17.0.0.1",
	} {
		add("address-"+id, host+":443")
	}
	return sorted(rows)
}
