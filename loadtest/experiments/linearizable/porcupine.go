package linearizable

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// crossCheckTime bounds the second opinion, whose search does not always end.
const crossCheckTime = 2 * time.Second

// A sale is the state of a coupon in porcupine's model. The users are a set in
// text form, because states are compared.
type sale struct {
	stock int
	users string
}

// crossCheck returns porcupine's verdict on the same steps.
func crossCheck(steps []step, initial int) result {
	numbers := map[int64]int{} // of the users who have an order at the end
	operations := make([]porcupine.Operation, len(steps))
	for i, s := range steps {
		if s.units < 0 {
			numbers[s.user] = len(numbers)
		}
		operations[i] = porcupine.Operation{ClientId: i, Input: s, Call: int64(s.call), Return: int64(s.ret)}
	}
	model := porcupine.Model{
		Init: func() any { return sale{initial, string(make([]byte, len(numbers)))} },
		Step: func(st, input, _ any) (bool, any) {
			before, s := st.(sale), input.(step)
			number, has := numbers[s.user]
			if s.units == 0 {
				return before.stock == 0 && !(has && before.users[number] == 1), before
			}
			after := sale{before.stock + s.units, before.users}
			if s.units < 0 {
				users := []byte(before.users)
				users[number] = 1
				after.users = string(users)
			}
			return after.stock >= 0, after
		},
	}
	switch porcupine.CheckOperationsTimeout(model, operations, crossCheckTime) {
	case porcupine.Ok:
		return linearizable
	case porcupine.Illegal:
		return violated
	}
	return undecided
}
