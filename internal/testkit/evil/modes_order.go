package evil

import "slices"

// orderModes are about which answer belongs to which question.
func orderModes() []Mode {
	answering := func(doc func(*server, request) error) func(*server) {
		return func(s *server) {
			s.on["tools/call"] = func(r request) error { return doc(s, r) }
		}
	}
	return []Mode{
		{"unknown-id", "answers to a call have an id that no request had; the right answer follows", answering(func(s *server, r request) error {
			for _, id := range []any{987_654, "nobody", -1, 1.5, nil, []int{1}} {
				if err := s.w.send(answer(id, text("not yours"))); err != nil {
					return err
				}
			}
			return s.call(r)
		})},
		{"twice", "every call is answered twice, the second time with something else", answering(func(s *server, r request) error {
			if err := s.call(r); err != nil {
				return err
			}
			return s.w.send(answer(r.ID, text("the second answer")))
		})},
		{"early", "answers to the ids 0 to n (20) come before anything was asked", func(s *server) {
			s.greet = func() error {
				for id := range s.n(20) {
					if err := s.w.send(answer(id, text("early"))); err != nil {
						return err
					}
				}
				return nil
			}
		}},
		{"string-id", "the id of a call comes back as text", answering(func(s *server, r request) error {
			return s.w.send(answer(string(r.ID), text("your number, as text")))
		})},
		{"result-and-error", "an answer is a result and an error at once", answering(func(s *server, r request) error {
			both := failure(r.ID, -32000, "and an error")
			both["result"] = text("a result")
			return s.w.send(both)
		})},
		{"neither", "an answer is neither a result nor an error", answering(func(s *server, r request) error {
			return s.w.send(object{"jsonrpc": "2.0", "id": r.ID})
		})},
		{"out-of-order", "n calls (2) are waited for, and answered last one first", func(s *server) {
			var waiting []request
			answerAll := func() error {
				for _, r := range slices.Backward(waiting) {
					if err := s.call(r); err != nil {
						return err
					}
				}
				waiting = nil
				return nil
			}
			s.on["tools/call"] = func(r request) error {
				waiting = append(waiting, r)
				if len(waiting) < s.n(2) {
					return nil
				}
				return answerAll()
			}
			s.leave = answerAll
		}},
	}
}
