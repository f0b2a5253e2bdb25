package node

// Socket is where containerd's own client finds it, inside.
func Socket() string { return file("containerd.sock") }
