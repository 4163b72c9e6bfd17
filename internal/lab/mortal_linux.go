package lab

import "syscall"

// mortal makes the kernel send sig to the child when its starter dies.
func mortal(sig syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: sig, Setpgid: true}
}

// tied says whether a child needs a watcher as well.
const tied = false
