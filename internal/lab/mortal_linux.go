package lab

import "syscall"

// mortal makes the kernel send sig to the child when its starter dies.
func mortal(sig syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: sig, Setpgid: true}
}
