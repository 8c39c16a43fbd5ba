package landlock_test

// atFull lists what is different at level full: whether it can be done there.
func atFull() map[string]bool {
	return map[string]bool{
		// It has processes, a network and shared memory to itself.
		"proc: supervisor": true, "proc: first process": true, "proc: list": true, "proc: connections": true,
		"proc: connections of a thread": true, "proc: locks": true,
		"net: UDP": true, "net: UDP by IPv6": true, "net: bind": true, "net: bind and listen": true, "net: listen without bind": true,
		"kernel: shared memory": true, "kernel: message queue": true, "kernel: semaphores": true,
		// The parent of the victim's directory is an empty one of its own.
		"file: watch": true,
		// No port of the machine exists there, and no other process.
		"net: own port": false, "net: own port by IPv6": false, asyncSignal: false,
	}
}
