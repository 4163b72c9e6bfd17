package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"example.com/flashsale/internal/order"
)

const exportRoute = "GET /coupons/{id}/orders.ndjson"

// exportPage is how many orders are read, and then sent, at a time.
const exportPage = 1000

// An exportEnd is the last line of an export. Without it the export is incomplete.
type exportEnd struct {
	Orders int `json:"orders"` // lines before this one
}

// exportOrders replies with all orders of a coupon, one on each line, and an
// exportEnd. It has every order that was committed before the request, and perhaps
// later ones. It needs memory for a page, and no connection to MySQL while the
// client reads.
func (a *API) exportOrders(ctx context.Context, in *couponPath) (*huma.StreamResponse, error) {
	first, err := a.couponOrders(ctx, in.ID.n, 0, exportPage)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		r, w := humachi.Unwrap(h)
		w.Header().Set("Content-Type", ndjson)
		if r.Method != http.MethodHead && !a.writeOrders(w, r, in.ID.n, first) {
			panic(http.ErrAbortHandler) // else net/http would end the body as if it were complete
		}
	}}, nil
}

// writeOrders writes the orders of a coupon, of which page is the first page. It
// reports whether it has written all. The time of the server is for responses that
// are short; here each page has it anew.
func (a *API) writeOrders(w http.ResponseWriter, r *http.Request, couponID int64, page []order.Order) bool {
	control, out := http.NewResponseController(w), json.NewEncoder(w)
	for n := 0; ; {
		_ = control.SetWriteDeadline(time.Now().Add(a.cfg.Timeout.Write()))
		for _, o := range page {
			if out.Encode(newOrder(o)) != nil {
				return false
			}
		}
		n += len(page)
		if len(page) < exportPage {
			return out.Encode(exportEnd{n}) == nil && control.Flush() == nil
		}
		var ok bool
		if page, ok = a.nextExportPage(r.Context(), couponID, page[len(page)-1].UserID); !ok {
			return false
		}
	}
}

// nextExportPage returns the page after a user's order, unless it cannot be read or
// the instance shuts down.
func (a *API) nextExportPage(ctx context.Context, couponID, userID int64) ([]order.Order, bool) {
	if a.draining.Load() {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timeout.Work())
	defer cancel()
	page, err := a.cfg.Orders.ListByCoupon(ctx, couponID, userID, exportPage)
	return page, a.problem(ctx, exportRoute, err) == nil
}
