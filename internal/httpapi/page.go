package httpapi

import (
	"net/url"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// A Page holds the parameters of every list.
type Page struct {
	Before ID  `query:"before" doc:"Continue below this id: next of the previous response"`
	Limit  int `query:"limit" minimum:"1" maximum:"100" default:"20"`
}

// Resolve implements huma.Resolver. huma takes an empty parameter for an absent
// one, and only reads the first of several.
func (p *Page) Resolve(ctx huma.Context) (errs []error) {
	u := ctx.URL()
	return plainNumber(u.RawQuery, "limit", p.Limit, "before", "coupon_id") // which GET /changes has
}

// plainNumber returns what is wrong with the parameters of a query: one that is empty or
// given twice, or the number name if it is not written in plain digits.
func plainNumber(rawQuery, name string, n int, others ...string) (errs []error) {
	query, err := url.ParseQuery(rawQuery)
	if err != nil {
		return []error{&huma.ErrorDetail{Location: "query",
			Message: "expected pairs of name and value, percent-encoded"}}
	}
	for _, name := range append(others, name) {
		if values := query[name]; len(values) > 1 || len(values) == 1 && values[0] == "" {
			errs = append(errs, &huma.ErrorDetail{Location: "query." + name, Message: "expected one value"})
		}
	}
	if text := query.Get(name); text != "" && text != strconv.Itoa(n) {
		errs = append(errs, &huma.ErrorDetail{Location: "query." + name, Message: "expected plain digits"})
	}
	return errs
}

// listed returns the forms of what a page has, and the cursor of the next page, or nil if the page is not
// full and the list therefore ends.
func listed[V, T any](p Page, found []V, form func(V) T, cursor func(V) int64) (forms []T, next *ID) {
	forms = make([]T, len(found))
	for i, v := range found {
		forms[i] = form(v)
	}
	if len(found) >= p.Limit {
		next = &ID{cursor(found[len(found)-1])}
	}
	return forms, next
}
