package pictures

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"slices"

	"example.com/flashsale/loadtest/rig"
)

// write writes a PNG file with a palette, which is a third as large as one with
// all colours.
func write(file string, picture []byte) error {
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&b, paletted(decoded)); err != nil {
		return err
	}
	return rig.WriteFile(file, b.Bytes())
}

// paletted returns m in its most frequent colours.
func paletted(m image.Image) *image.Paletted {
	p := image.NewPaletted(m.Bounds(), palette(m, 64))
	draw.Draw(p, p.Bounds(), m, m.Bounds().Min, draw.Src)
	return p
}

// palette returns at most size colours of m, the most frequent first. No two of
// them are so near to each other that the eye takes them for one.
func palette(m image.Image, size int) (p color.Palette) {
	counts := map[color.Color]int{}
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			counts[m.At(x, y)]++
		}
	}
	for _, c := range slices.SortedFunc(maps.Keys(counts),
		func(a, b color.Color) int { return cmp.Compare(counts[b], counts[a]) }) {
		if len(p) < size && !slices.ContainsFunc(p, func(other color.Color) bool { return near(c, other) }) {
			p = append(p, c)
		}
	}
	return p
}

// near reports whether the channels of two colours differ by less than four
// percent.
func near(a, b color.Color) bool {
	const limit = 0xffff / 25
	r1, g1, b1, _ := a.RGBA()
	r2, g2, b2, _ := b.RGBA()
	return distance(r1, r2) < limit && distance(g1, g2) < limit && distance(b1, b2) < limit
}

func distance(a, b uint32) uint32 { return max(a, b) - min(a, b) }
