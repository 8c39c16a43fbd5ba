package evil

// endModes are about servers that stop: without a word, or altogether.
func endModes() []Mode {
	hang := func(method string) func(*server) {
		return func(s *server) {
			s.on[method] = func(request) error { return nil }
		}
	}
	die := func(method string, death DeathError) func(*server) {
		return func(s *server) {
			s.on[method] = func(request) error { return &death }
		}
	}
	// The call that kills is the n-th; those before are answered.
	dieAtCall := func(death DeathError, half bool) func(*server) {
		return func(s *server) {
			s.on["tools/call"] = func(r request) error {
				if s.calls+1 < s.n(1) {
					return s.call(r)
				}
				if half {
					if err := s.w.raw([]byte(`{"jsonrpc":"2.0","id":`)); err != nil {
						return err
					}
				}
				return &death
			}
		}
	}
	return []Mode{
		{"hang-initialize", "never answers initialize", hang("initialize")},
		{"hang-list", "never answers tools/list", hang("tools/list")},
		{"hang-call", "never answers tools/call", hang("tools/call")},
		{"hang-close", "keeps running when its input ends, and has to be killed", func(s *server) {
			s.leave = func() error {
				<-s.ctx.Done()
				return s.ctx.Err()
			}
		}},
		{"die-discover", "exits with code 3 at server/discover, the first question of the newer protocol", die("server/discover", DeathError{Code: 3})},
		{"die-initialize", "exits with code 3 at initialize", die("initialize", DeathError{Code: 3})},
		{"die-list", "exits with code 3 at tools/list", die("tools/list", DeathError{Code: 3})},
		{"die-call", "exits with code 3 at the n-th call (1)", dieAtCall(DeathError{Code: 3}, false)},
		{"die-half", "exits with code 0 in the middle of the answer to the n-th call (1)", dieAtCall(DeathError{}, true)},
		{"killed", "is killed by SIGKILL at the n-th call (1)", dieAtCall(DeathError{Killed: true}, false)},
		{"close-stdout", "says nothing and ends at once, with code 0", func(s *server) {
			s.greet = func() error { return errDone }
		}},
	}
}
