package race

import (
	"os"
	"os/exec"
	"runtime"
)

// openBrowser opens url where there is a desktop. It does nothing in CI.
func openBrowser(url string) {
	opener := ""
	switch {
	case os.Getenv("CI") != "":
	case runtime.GOOS == "darwin":
		opener = "open"
	case os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "":
		opener = "xdg-open"
	}
	if opener == "" {
		return
	}
	cmd := exec.Command(opener, url)
	if cmd.Start() == nil { // else the address has been printed
		go func() { _ = cmd.Wait() }()
	}
}
