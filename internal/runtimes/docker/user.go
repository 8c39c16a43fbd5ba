package docker

import (
	"os"
	"os/user"
	"strconv"
)

// labelUser says whose an image is. Several users can share a daemon, and each removes only their own
// images.
const labelUser = "dev.perstack.user"

// userID names the user of this process, without telling who it is. It does not depend on the name of
// the machine, which can change.
func userID() string {
	id := strconv.Itoa(os.Getuid()) // what is left if the system does not know the user
	if u, err := user.Current(); err == nil {
		id = u.Uid + " " + u.Username
	}
	return hashOf([]byte("perstack user " + id))[:16]
}

// ofUser adds the user to the labels of an image, and to the digest that names it: two users never
// have the same image, though the daemon stores their layers once.
func ofUser(labels map[string]string) map[string]string {
	labels[labelUser] = userID()
	labels[labelImage] = hashOf([]byte(labels[labelImage] + " of " + labels[labelUser]))
	return labels
}
