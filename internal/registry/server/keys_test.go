package server

import (
	"context"
	"crypto/rand"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perstack-go/perstack/internal/registry/api"
)

var somewhere = netip.MustParseAddr("192.0.2.7")

// key makes a key for an organization.
func (s *site) key(org string, asked api.CreateKey) string {
	s.t.Helper()
	asked.Organization = org
	made, err := s.CreateKey(s.t.Context(), Operator(), asked)
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Token
}

func testKeys(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	token := s.key("acme", api.CreateKey{Name: "laptop", Scopes: []string{"read", "publish"}, Patterns: []string{"@acme/*"}, Networks: []string{"192.0.2.9/24"}})
	got, err := s.Authenticate(t.Context(), token, somewhere)
	if err != nil {
		t.Fatal(err)
	}
	want := Actor{OrgID: acme.OrgID, OrgName: "acme", OrgType: Team, KeyID: strings.Split(token, "_")[2], KeyKind: "key", Scopes: []Scope{Read, Publish}, Patterns: []string{"@acme/*"}, Networks: []string{"192.0.2.0/24"}, ExpiresAt: s.time.Add(7 * 24 * time.Hour), Address: "192.0.2.7"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Actor{})); diff != "" {
		t.Error(diff)
	}
	s.mustPublish(got, content("@acme/lead", "1.0.0"))
	who, err := s.Whoami(t.Context(), got)
	if err != nil {
		t.Fatal(err)
	}
	info := api.KeyInfo{
		ID: got.KeyID, Name: "laptop", Scopes: []string{"read", "publish"}, Patterns: []string{"@acme/*"}, Networks: []string{"192.0.2.0/24"},
		CreatedAt: s.time, ExpiresAt: s.time.Add(7 * 24 * time.Hour), UsedAt: s.time,
	}
	if diff := cmp.Diff(api.Whoami{Organization: api.Organization{ID: acme.OrgID, Name: "acme", Type: Team}, Key: info}, who); diff != "" {
		t.Error(diff)
	}
	for name, c := range map[string]struct {
		token string
		from  string
		wait  time.Duration
	}{
		"nothing":         {token: ""},
		"another network": {token: token, from: "198.51.100.1"},
		"expired":         {token: token, wait: 7 * 24 * time.Hour},
		"cut":             {token: token[:len(token)-1]},
		"checksum":        {token: token[:len(token)-1] + string(token[len(token)-1]^1)},
		"unknown":         {token: mustToken(t)},
	} {
		from := somewhere
		if c.from != "" {
			from = netip.MustParseAddr(c.from)
		}
		before := s.time
		s.time = before.Add(c.wait)
		if _, err := s.Authenticate(t.Context(), c.token, from); reason(err) != "401 Failed to authenticate" {
			t.Errorf("%s: %v", name, err)
		}
		s.time = before
	}
	// A secret that is wrong by its last bits is not accepted with a matching checksum.
	body := []byte(token[:len(token)-7])
	body[20] ^= 1
	if _, err := s.Authenticate(t.Context(), string(body)+"_"+checksum(string(body)), somewhere); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
	if err := s.RevokeKey(t.Context(), got, got.KeyID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Authenticate(t.Context(), token, somewhere); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
}

func mustToken(t *testing.T) string {
	t.Helper()
	made, err := newToken("org", rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return made.text
}

func testKeyRules(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	s.org("other", Team)
	owner, limited := acme, acme
	owner.Scopes = Scopes()
	limited.Scopes, limited.Patterns = Scopes(), []string{"@acme/lead"}
	read := []string{"read"}
	for name, c := range map[string]struct {
		by    Actor
		asked api.CreateKey
		want  string
	}{
		"own":            {owner, api.CreateKey{Scopes: read}, "<nil>"},
		"90 days":        {owner, api.CreateKey{Scopes: []string{"publish"}, Days: 90}, "<nil>"},
		"long read":      {owner, api.CreateKey{Scopes: read, Days: 365}, "<nil>"},
		"operator":       {Operator(), api.CreateKey{Organization: "acme", Scopes: read}, "<nil>"},
		"long":           {owner, api.CreateKey{Scopes: []string{"publish"}, Days: 91}, "422 a key with these scopes can be valid for 1 to 90 days"},
		"past":           {owner, api.CreateKey{Scopes: read, Days: -1}, "422 a key with these scopes can be valid"},
		"no scope":       {owner, api.CreateKey{}, "422 a key needs at least one scope"},
		"unknown scope":  {owner, api.CreateKey{Scopes: []string{"all"}}, `422 "all" is not a scope`},
		"pattern":        {owner, api.CreateKey{Scopes: read, Patterns: []string{"*/a"}}, `422 "*/a" is not a pattern of names`},
		"network":        {owner, api.CreateKey{Scopes: read, Networks: []string{"here"}}, `422 "here" is not a network`},
		"name":           {owner, api.CreateKey{Scopes: read, Name: "a\nb"}, "422 the name of a key"},
		"no admin":       {acme, api.CreateKey{Scopes: read}, "401 "},
		"limited":        {limited, api.CreateKey{Scopes: read}, "401 "},
		"no key":         {Actor{}, api.CreateKey{Scopes: read}, "401 "},
		"another":        {owner, api.CreateKey{Organization: "other", Scopes: read}, "401 "},
		"unknown":        {owner, api.CreateKey{Organization: "none", Scopes: read}, "401 "},
		"unknown to all": {Operator(), api.CreateKey{Organization: "none", Scopes: read}, "404 Organization not found"},
	} {
		if _, err := s.CreateKey(t.Context(), c.by, c.asked); !strings.HasPrefix(reason(err), c.want) {
			t.Errorf("%s: %s", name, reason(err))
		}
	}
	all, err := s.Keys(t.Context(), owner, "")
	if err != nil || len(all) != 4 {
		t.Errorf("%d keys: %v", len(all), err)
	}
	if _, err := s.Keys(t.Context(), owner, "other"); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
	if err := s.RevokeKey(t.Context(), acme, all[0].ID); reason(err) != "404 Key not found" {
		t.Error(err)
	}
	if err := s.RevokeKey(t.Context(), owner, all[0].ID); err != nil {
		t.Error(err)
	}
	if all, err = s.Keys(t.Context(), Operator(), "acme"); err != nil || len(all) != 3 {
		t.Errorf("%d keys: %v", len(all), err)
	}
}

// A key that is limited to names manages nothing else, whatever its scopes are.
func testLimitedAdministrators(t *testing.T, s *site) {
	acme, staff := s.org("acme", Team), s.org("staff", ServiceAdmin)
	s.mustPublish(acme, content("@acme/lead", "1.0.0"))
	acme.Scopes, staff.Scopes = Scopes(), Scopes()
	limited, owner := staff, acme
	limited.Patterns, owner.Patterns = []string{"staff-*"}, []string{"@acme/*"}
	if !staff.IsAdmin() || limited.IsAdmin() {
		t.Error("a key with name patterns manages the registry")
	}
	for _, by := range []Actor{limited, owner} {
		for name, err := range map[string]error{
			"audit":      s.AuditTrail(t.Context(), by, time.Time{}, func(api.AuditEntry) error { return nil }),
			"create":     second(s.CreateOrganization(t.Context(), by, "mine", Team)),
			"key":        second(s.CreateKey(t.Context(), by, api.CreateKey{Organization: "acme", Scopes: []string{"read"}})),
			"quarantine": s.Quarantine(t.Context(), by, "@acme/lead@1.0.0", ""),
			"reports":    second(s.Reports(t.Context(), by)),
			"exempt":     s.ExemptNames(t.Context(), by, "acme", true),
		} {
			if reason(err) != "401 Failed to authenticate" {
				t.Errorf("%s: %s", name, reason(err))
			}
		}
	}
}

// A key that another one makes is valid where that one is, and no longer.
func testKeysOfKeys(t *testing.T, s *site) {
	s.org("acme", Team)
	owner, err := s.Authenticate(t.Context(), s.key("acme", api.CreateKey{Scopes: []string{"admin"}, Networks: []string{"192.0.2.0/24"}, Days: 5}), somewhere)
	if err != nil {
		t.Fatal(err)
	}
	read := []string{"read"}
	for name, c := range map[string]struct {
		asked api.CreateKey
		want  string
	}{
		"longer":          {api.CreateKey{Scopes: read, Days: 6}, "422 the key that asks is valid until 2026-01-07T03:04:05Z"},
		"another network": {api.CreateKey{Scopes: read, Networks: []string{"198.51.100.0/24"}}, "422 the network 198.51.100.0/24 is not in those of the key that asks"},
		"wider":           {api.CreateKey{Scopes: read, Networks: []string{"192.0.0.0/16"}}, "422 the network 192.0.0.0/16 is not in"},
	} {
		if _, err := s.CreateKey(t.Context(), owner, c.asked); !strings.HasPrefix(reason(err), c.want) {
			t.Errorf("%s: %s", name, reason(err))
		}
	}
	made, err := s.CreateKey(t.Context(), owner, api.CreateKey{Scopes: read})
	if err != nil || !made.Key.ExpiresAt.Equal(owner.ExpiresAt) || cmp.Diff([]string{"192.0.2.0/24"}, made.Key.Networks) != "" {
		t.Errorf("%+v %v", made.Key, err)
	}
	made, err = s.CreateKey(t.Context(), owner, api.CreateKey{Scopes: read, Days: 1, Networks: []string{"192.0.2.128/25"}})
	if err != nil || cmp.Diff([]string{"192.0.2.128/25"}, made.Key.Networks) != "" {
		t.Errorf("%+v %v", made.Key, err)
	}
}

func testBootstrap(t *testing.T, s *site) {
	first, err := s.Bootstrap(t.Context())
	if err != nil || !strings.HasPrefix(first, "psk_admin_") {
		t.Fatalf("%q %v", first, err)
	}
	if again, err := s.Bootstrap(t.Context()); err != nil || again != "" {
		t.Errorf("%q %v", again, err)
	}
	admin, err := s.Authenticate(t.Context(), first, somewhere)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateOrganization(t.Context(), admin, "acme", Team); err != nil {
		t.Error(err)
	}
	if _, err := s.CreateOrganization(t.Context(), admin, "acme", Team); reason(err) != "400 Organization acme already exists" {
		t.Error(err)
	}
	all, err := s.Organizations(t.Context(), admin)
	if err != nil || len(all) != 2 || all[0].Name != "acme" || all[1].Name != "registry" {
		t.Errorf("%v %v", all, err)
	}
	acme, err := s.Authenticate(t.Context(), s.key("acme", api.CreateKey{Scopes: []string{"admin"}}), somewhere)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateOrganization(t.Context(), acme, "mine", Team); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
	if all, err = s.Organizations(t.Context(), acme); err != nil || len(all) != 1 {
		t.Errorf("%v %v", all, err)
	}
	if _, err := s.Organizations(t.Context(), Actor{}); reason(err) != "401 Failed to authenticate" {
		t.Error(err)
	}
}

func testReadOnly(t *testing.T, s *site) {
	acme := s.org("acme", Team)
	token := s.key("acme", api.CreateKey{Scopes: []string{"read"}})
	s.opts.ReadOnly = true
	if _, err := s.Authenticate(context.WithoutCancel(t.Context()), token, somewhere); err != nil {
		t.Error(err)
	}
	if _, err := s.publish(acme, content("@acme/lead", "1.0.0")); !strings.HasPrefix(reason(err), "503 ") {
		t.Error(err)
	}
}

func FuzzParseToken(f *testing.F) {
	made, err := newToken("org", rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(made.text)
	f.Add("psk_org_a_b_c")
	f.Fuzz(func(t *testing.T, text string) {
		if parsed, ok := parseToken(text); ok && (parsed.text != text || len(parsed.id) != idLength || !strings.HasPrefix(text, "psk_"+parsed.kind+"_"+parsed.id+"_")) {
			t.Errorf("%q %+v", text, parsed)
		}
	})
}
