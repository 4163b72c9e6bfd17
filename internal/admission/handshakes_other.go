//go:build !linux

package admission

import (
	"context"
	"net"
)

// awaitHandshakes does nothing: only Linux has what it needs.
func awaitHandshakes(context.Context, net.Listener) {}
