package report

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Say prints text to standard output, broken between words as Table.Print does.
func Say(format string, args ...any) {
	for _, line := range Wrap(fmt.Sprintf(format, args...), terminalWidth()) {
		fmt.Println(line)
	}
}

// defaultWidth is the width of what is no terminal.
const defaultWidth = 80

func terminalWidth() int {
	if size, err := unix.IoctlGetWinsize(int(os.Stdout.Fd()), unix.TIOCGWINSZ); err == nil && size.Col > 0 {
		return int(size.Col)
	}
	return defaultWidth
}
