package docker

// startHint is how an engine is started as a rule.
const startHint = "systemctl start docker"
