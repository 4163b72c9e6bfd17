package pictures

import (
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	if err := os.Chdir(filepath.Join("..", "..")); err != nil { // all paths are relative to the root
		panic(err)
	}
	labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.NginxServer, lab.Chromium)
}

// limit is the size of all pictures together, of which a reader of a README downloads half.
const limit = 1_000_000

var committed = filepath.Join("docs", "pictures")

func TestPicturesAreSmall(t *testing.T) {
	t.Parallel()
	size := int64(0)
	for _, f := range files(t, committed) {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size == 0 || size > limit {
		t.Errorf("the pictures have %d bytes together, want at most %d", size, limit)
	}
}

func files(t *testing.T, dir string) []fs.DirEntry {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// shown is a picture in a README. It has a file for each scheme.
var shown = regexp.MustCompile(`<picture>` +
	`<source media="\(prefers-color-scheme: dark\)" srcset="docs/pictures/([a-z-]+)-dark\.(png|svg)">` +
	`<img src="docs/pictures/([a-z-]+)-light\.(png|svg)" alt="([^"]*)"></picture>`)

// Each README shows every picture, in both schemes, and says what is on it.
func TestReadmesShowEveryPicture(t *testing.T) {
	t.Parallel()
	var want []string
	for _, f := range files(t, committed) {
		want = append(want, f.Name())
	}
	for _, readme := range []string{"README.md", "README.zh-CN.md"} {
		text, err := os.ReadFile(readme)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range shown.FindAllStringSubmatch(string(text), -1) {
			got = append(got, m[1]+"-dark."+m[2], m[3]+"-light."+m[4])
			if m[1] != m[3] || utf8.RuneCountInString(m[5]) < 40 {
				t.Errorf("%s: %s and %s with the text %q", readme, m[1], m[3], m[5])
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s shows %q, docs/pictures has %q", readme, got, want)
		}
	}
}

// The race's page can be photographed: the pictures have the same size, show both
// sides, and are in the colours of their schemes.
func TestRaceIsPhotographed(t *testing.T) {
	labtest.BuildAPI(t, filepath.Join("bin", "api"))
	dir := t.TempDir()
	if err := writeRace(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	bright, black := read(t, filepath.Join(dir, "race-light.png")), read(t, filepath.Join(dir, "race-dark.png"))
	if bright.Bounds() != black.Bounds() || bright.Bounds().Dx() < 1300 || bright.Bounds().Dy() < 1000 {
		t.Errorf("the pictures are %v and %v", bright.Bounds(), black.Bounds())
	}
	for _, x := range []int{bright.Bounds().Dx() / 4, bright.Bounds().Dx() * 3 / 4} { // the cards of the sides
		if y := color.GrayModel.Convert(bright.At(x, 10)).(color.Gray).Y; y < 0xf0 {
			t.Errorf("the light picture has brightness %d at %d", y, x)
		}
		if y := color.GrayModel.Convert(black.At(x, 10)).(color.Gray).Y; y > 0x30 {
			t.Errorf("the dark picture has brightness %d at %d", y, x)
		}
	}
}

func read(t *testing.T, file string) image.Image {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	m, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
