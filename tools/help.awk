# Prints the targets of a Makefile with the text after ##, and the headings after
# ##@. Lines are wrapped at width columns, and at 80 if the terminal is wider.

BEGIN { FS = ":.*## "; limit = width + 0 > 0 && width < 80 ? width : 80 }

/^##@ / { printf "\n%s\n", substr($0, 5) }

/^[a-z-]+:.*## / {
	line = sprintf("  make %-13s", $1)
	count = split($2, words, " ")
	for (i = 1; i <= count; i++) {
		if (length(line) + 1 + length(words[i]) > limit && line ~ /[^ ]/) {
			print line
			line = sprintf("%20s", "")
		}
		line = line " " words[i]
	}
	print line
}
