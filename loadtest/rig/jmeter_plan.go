package rig

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/flashsale/loadtest/shop"
)

// The parts of claim.jmx that are of this repository's service.
const (
	planPath     = `/coupons/${coupon}/orders?number=${number}</stringProp>`
	planMethod   = `<stringProp name="HTTPSampler.method">POST</stringProp>`
	planWarmUp   = `/coupons/${coupon}</stringProp>`
	planSampler  = `testname="warm-up" enabled="true"`
	planOrder    = `"id":"(\d+)"`
	headersBegin = `<elementProp name="" elementType="Header">`
	headersEnd   = `</collectionProp>`
)

// wholeBody is the expression with which the variable order has all of a reply's body.
const wholeBody = `(?s)(.*)`

// writePlan writes claim.jmx with the requests of another shop to dir, and returns its
// path.
func writePlan(dir string, t Target) (string, error) {
	text, err := os.ReadFile(filepath.Join("loadtest", "jmeter", "claim.jmx"))
	if err != nil {
		return "", err
	}
	text, err = planFor(text, t)
	path := filepath.Join(dir, "claim.jmx")
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, text, 0o600)
}

// planFor returns the plan with the requests of t.Shop.
func planFor(text []byte, t Target) ([]byte, error) {
	base, err := url.Parse(t.URL)
	if err != nil {
		return nil, err
	}
	variables := shop.Values{"user": "${user}", "token": "${token}", "coupon": "${coupon}",
		"number": "${number}"}
	claim, warmUp := t.Shop.Claim.With(variables), t.Shop.WarmUp.With(variables)
	for _, v := range variables { // of a form
		claim.Body = strings.ReplaceAll(claim.Body, url.QueryEscape(v), "${__urlencode("+v+")}")
	}
	element := func(r shop.Filled) string { return escape(base.Path+r.URL) + "</stringProp>" }
	replacements := []string{
		planPath, element(claim), planWarmUp, element(warmUp), planOrder, wholeBody,
		planMethod, `<stringProp name="HTTPSampler.method">` + escape(claim.Method) + `</stringProp>` + rawBody(claim),
	}
	if t.Shop.WarmUp.URL == "" {
		replacements = append(replacements, planSampler, `testname="warm-up" enabled="false"`)
	}
	for i := 0; i < len(replacements); i += 2 {
		if n := bytes.Count(text, []byte(replacements[i])); n != 1 {
			return nil, fmt.Errorf("claim.jmx has %s %d times", replacements[i], n)
		}
	}
	text = []byte(strings.NewReplacer(replacements...).Replace(string(text)))
	return withHeaders(text, claim)
}

// rawBody returns the elements of a sampler that sends a body.
func rawBody(r shop.Filled) string {
	if r.Body == "" {
		return ""
	}
	return `<boolProp name="HTTPSampler.postBodyRaw">true</boolProp>
          <elementProp name="HTTPsampler.Arguments" elementType="Arguments"><collectionProp name="Arguments.arguments">
            <elementProp name="" elementType="HTTPArgument"><boolProp name="HTTPArgument.always_encode">false</boolProp>
              <stringProp name="Argument.value">` + escape(r.Body) + `</stringProp>
              <stringProp name="Argument.metadata">=</stringProp></elementProp>
          </collectionProp></elementProp>`
}

// withHeaders replaces the header of the plan by those of r.
func withHeaders(text []byte, r shop.Filled) ([]byte, error) {
	before, rest, found := bytes.Cut(text, []byte(headersBegin))
	_, after, closed := bytes.Cut(rest, []byte(headersEnd))
	if !found || !closed {
		return nil, fmt.Errorf("claim.jmx has no %s", headersBegin)
	}
	var b bytes.Buffer
	b.Write(before)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		fmt.Fprintf(&b, `%s<stringProp name="Header.name">%s</stringProp><stringProp name="Header.value">%s</stringProp></elementProp>`,
			headersBegin, escape(name), escape(r.Headers[name]))
	}
	b.WriteString(headersEnd)
	b.Write(after)
	return b.Bytes(), nil
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder returns no error
	return b.String()
}
