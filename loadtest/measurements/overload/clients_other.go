//go:build !linux

package overload

import (
	"context"
	"errors"
)

func (Load) run(context.Context) ([]Result, error) {
	return nil, errors.New("the clients need Linux")
}
