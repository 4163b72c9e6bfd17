package race

import "net/http"

func getSavedPage(w http.ResponseWriter, _ *http.Request, l *live) {}
