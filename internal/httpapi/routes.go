package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/observe"
)

// routes returns the handler of all routes.
func (a *API) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(observe.TraceRequests(a.cfg.Traces), a.middleware)
	r.Use(crossOrigin(a.cfg.CORSOrigins), middleware.GetHead)
	r.NotFound(a.limitAddress(noRoute).ServeHTTP)
	r.MethodNotAllowed(a.limitAddress(a.methodNotAllowed(r)).ServeHTTP)

	r.Get("/livez", a.livez) // without a limit: a refused probe would get the instance restarted
	r.Method("GET", "/metrics", promhttp.HandlerFor(a.cfg.Metrics, promhttp.HandlerOpts{}))
	public := r.With(a.limitAddress)
	public.Get("/readyz", a.readyz)
	sale := humachi.New(r, document())
	if a.cfg.Docs {
		routeDocs(public)
		routeDocument(public, sale.OpenAPI())
	}
	handle(a, sale, auth.RoleUser, claimRoute, "Claim a coupon", a.claim,
		slices.Concat(claimVerdicts, []*Problem{claimUnknown})...)
	handle(a, sale, auth.RoleUser, "GET /coupons", "List coupons", a.listCoupons)
	handle(a, sale, auth.RoleUser, "GET /coupons/{id}", "Read a coupon", a.readCoupon, couponNotFound)
	handle(a, sale, auth.RoleUser, "GET /orders", "List my orders", a.listOrders)
	handle(a, sale, auth.RoleUser, "GET /orders/{id}", "Read an order", a.readOrder, orderNotFound)
	handle(a, sale, auth.RoleUser, "DELETE /orders/{id}", "Return an order", a.returnOrder,
		orderNotFound, alreadyUsed, orderExpired, notReturnable, orderUnknown)
	handle(a, sale, auth.RoleClerk, "PUT /orders/{id}/use", "Use an order", a.useOrder,
		orderNotFound, alreadyUsed, orderReturned, orderExpired, orderUnknown)
	handle(a, sale, auth.RoleAdmin, "POST /coupons", "Create a coupon", a.createCoupon, rulesNotAllowed)
	handle(a, sale, auth.RoleAdmin, "PATCH /coupons/{id}", "Update a coupon", a.updateCoupon, couponNotFound)
	handle(a, sale, auth.RoleAdmin, "POST /coupons/{id}/stock", "Restock a coupon", a.restock,
		couponNotFound, stockLimit)
	handle(a, sale, auth.RoleAdmin, "GET /changes", "List changes of coupons", a.listChanges)
	handle(a, sale, auth.RoleAdmin, "GET /coupons/{id}/orders", "List orders of a coupon", a.listCouponOrders,
		couponNotFound)
	handle(a, sale, auth.RoleAdmin, exportRoute, "Export orders of a coupon", a.exportOrders, couponNotFound)
	handle(a, sale, auth.RoleAdmin, auditRoute, "Audit a coupon", a.audit, couponNotFound)
	return r
}

// handle registers an operation that requires the role and has a deadline. It
// turns the error that the operation returns into a problem. verdicts are the
// problems that this operation has beside the common ones.
func handle[I, O any](a *API, sale huma.API, role auth.Role, route, summary string,
	serve func(context.Context, *I) (*O, error), verdicts ...*Problem) {
	op := operation(role, route, summary)
	op.Middlewares = middlewaresOf[I](a, role, route)
	if hasField[O]("Location") {
		op.DefaultStatus = http.StatusCreated
	}
	op.Responses = problemResponses(sale.OpenAPI().Components.Schemas, append(problemsOf[I](role), verdicts...))
	if reflect.TypeFor[O]() == reflect.TypeFor[huma.StreamResponse]() {
		op.Responses["200"] = exportResponse()
	}
	huma.Register(sale, op, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, a.deadline(route))
		defer cancel()
		out, err := serve(ctx, in)
		if err != nil {
			return nil, a.problem(ctx, route, err)
		}
		return out, nil
	})
	documentHeaders(op.Responses)
}

// deadline returns the longest time of an operation.
func (a *API) deadline(route string) time.Duration {
	if route == auditRoute {
		return max(a.cfg.Timeout.Work(), auditTimeout)
	}
	return a.cfg.Timeout.Work()
}

// middlewaresOf returns what comes before an operation with the input I.
func middlewaresOf[I any](a *API, role auth.Role, route string) huma.Middlewares {
	switch {
	case hasField[I]("Body"):
		return huma.Middlewares{a.authorize(role), requireJSON}
	case route == claimRoute: // before its token is verified: the refusal has to cost much less than a claim
		return huma.Middlewares{requireNoBody, a.redirectUnready, a.refuseOverload, a.authorize(role)}
	}
	return huma.Middlewares{requireNoBody, a.redirectUnready, a.authorize(role)}
}

// problemsOf returns the problems of every operation with the input I that requires the role.
func problemsOf[I any](role auth.Role) []*Problem {
	problems := append(slices.Clone(everyOperation), invalidInput)
	if role > auth.RoleUser {
		problems = append(problems, forbidden)
	}
	if hasField[I]("Repeatable") {
		problems = append(problems, changeProblems...)
	}
	if hasField[I]("Body") {
		return append(problems, everyBody...)
	}
	return append(problems, noBody)
}

// An output is a response that is a document.
type output[T any] struct{ Body T }

// reply replies with the form that JSON has of v, unless err is not nil.
func reply[V, T any](form func(V) T, v V, err error) (*output[T], error) {
	if err != nil {
		return nil, err
	}
	return &output[T]{form(v)}, nil
}

func hasField[T any](name string) bool {
	_, found := reflect.TypeFor[T]().FieldByName(name)
	return found
}
