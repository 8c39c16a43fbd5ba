package run

import "strings"

// hideSecrets tells the host what must not be printed, and by that what is taken out of
// everything that tools and providers say. Whatever a skill is given counts if it looks
// like a key; so does what stands in an env file, even if another value won.
func (s *setup) hideSecrets() {
	h := s.opts.Host
	h.HideSecrets(s.env.Get)
	for _, e := range s.config.Experts {
		for _, skill := range e.Skills {
			for _, name := range skill.RequiredEnv {
				h.Secrets.AddIfRandom(name, s.env.Get(name))
			}
			for _, header := range skill.Headers {
				s.hideHeader(header.Name, header.Value)
			}
		}
	}
	for name, value := range s.env.InFiles() {
		h.Secrets.AddIfRandom(name, value)
	}
	for name, value := range s.config.Provider.Setting.Headers {
		s.hideHeader(name, value)
	}
}

// hideHeader hides the value of a header as it is written in the file. Of "Bearer KEY"
// the key alone must not be seen either. What variables add to it is hidden by their
// own names.
func (s *setup) hideHeader(name, value string) {
	if words := strings.Fields(value); len(words) > 0 {
		s.opts.Host.Secrets.AddIfRandom(name, words[len(words)-1])
	}
}
