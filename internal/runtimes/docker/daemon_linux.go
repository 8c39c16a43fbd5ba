package docker

// startHint is how a daemon is started as a rule.
const startHint = "systemctl start docker"
