package order

import (
	"slices"
	"testing"

	"example.com/flashsale/internal/lab/labtest"
)

// notVerdicts lists the sentinels that decide no claim, with the reason.
var notVerdicts = map[string]string{
	"order: not found":    "of a read",
	"order: unavailable":  "the outcome is not known",
	"order: id taken":     "another id is tried",
	"coupon: stock limit": "of a restock",
	"coupon: invalid":     "of the creation of a coupon",

	"coupon: rules are not allowed yet": "of the creation of a coupon",
	"coupon: id taken":                  "of the creation of a coupon",

	"coupon: key of another change": "of a change", "coupon: change with this key in progress": "of a change",
	"coupon: outcome of a change unknown":            "of a change",
	"coupon: outcome of a change with a key unknown": "of a change",

	"order: used": "of an order", "order: returned": "of an order", "order: expired": "of an order",
	"order: not returnable": "of an order", "order: outcome unknown": "of an order",
}

// A verdict that is missing in the list would be reported as unavailable.
func TestEverySentinelIsAVerdictOrNot(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "../coupon"} {
		for name, text := range labtest.Sentinels(t, dir) {
			isVerdict := slices.ContainsFunc(verdicts, func(v error) bool { return v.Error() == text })
			if isVerdict == (notVerdicts[text] != "") {
				t.Errorf("%s: %s is in neither list, or in both", dir, name)
			}
		}
	}
}
