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
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return []error{&huma.ErrorDetail{Location: "query",
			Message: "expected pairs of name and value, percent-encoded"}}
	}
	for _, name := range []string{"before", "limit"} {
		if values := query[name]; len(values) > 1 || len(values) == 1 && values[0] == "" {
			errs = append(errs, &huma.ErrorDetail{Location: "query." + name, Message: "expected one value"})
		}
	}
	if limit := query.Get("limit"); limit != "" && limit != strconv.Itoa(p.Limit) {
		errs = append(errs, &huma.ErrorDetail{Location: "query.limit", Message: "expected plain digits"})
	}
	return errs
}

// next returns the cursor after a page of n items that ends with lastID, or nil
// if the page is not full and the list therefore ends.
func (p Page) next(n int, lastID func() int64) *ID {
	if n < p.Limit {
		return nil
	}
	return &ID{lastID()}
}
