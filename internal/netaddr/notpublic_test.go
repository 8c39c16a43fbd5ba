package netaddr

import (
	"net/netip"
	"testing"
)

// The blocks are what AddrReach says, at both ends of each and just outside of them.
func TestNotPublic(t *testing.T) {
	blocks := NotPublic()
	inside := func(a netip.Addr) (count int) {
		for _, b := range blocks {
			if b.Contains(a) {
				count++
			}
		}
		return count
	}
	check := func(a netip.Addr) {
		want := 1
		if AddrReach(a) == Public {
			want = 0
		}
		if got := inside(a); got != want && !a.Is4In6() {
			t.Errorf("%s is in %d blocks, want %d", a, got, want)
		}
	}
	for _, b := range blocks {
		if b != b.Masked() {
			t.Errorf("%s is not a block", b)
		}
		first := b.Addr()
		last := first.AsSlice()
		for bit := b.Bits(); bit < len(last)*8; bit++ {
			last[bit/8] |= 0x80 >> (bit % 8)
		}
		end, _ := netip.AddrFromSlice(last)
		for _, a := range []netip.Addr{first, end, first.Prev(), end.Next()} {
			if a.IsValid() {
				check(a)
			}
		}
	}
	for _, text := range []string{"8.8.8.8", "2606:4700::1111", "127.0.0.1", "169.254.169.254", "::1", "fe80::1", "64:ff9b::7f00:1", "4000::1", "1fff::1", "2002:7f00:1::"} {
		check(netip.MustParseAddr(text))
	}
	if n := inside(netip.MustParseAddr("::ffff:8.8.8.8")); n != 0 {
		t.Errorf("mapped addresses are in %d blocks", n)
	}
}
