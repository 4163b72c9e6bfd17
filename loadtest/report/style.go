package report

import (
	"fmt"
	"html/template"
)

// style returns the style sheet of a page, in the scheme of the reader's system. The colours are those
// of the race's page (loadtest/experiments/race/page/style.css).
func style() (template.CSS, error) {
	var texts []any
	for _, name := range []string{"light", "dark", "style", "charts"} {
		text, err := files.ReadFile(name + ".css")
		if err != nil {
			return "", err
		}
		texts = append(texts, string(text))
	}
	return template.CSS(fmt.Sprintf("%s@media (prefers-color-scheme: dark) {\n%s}\n%s%s", texts...)), nil
}
