// Theme gives canvases the colours and fonts of the style sheet. Marks are the
// shapes that tell verdicts apart without colour.

// verdicts in the order in which they are drawn: the last is on top.
export const verdicts = ['in_flight', 'sold_out', 'already_claimed', 'other', 'claim_in_progress', 'refused', 'accepted', 'wrong'];

// marks are SVG paths around 0,0, drawn where a claim is answered.
export const marks = {
  wrong: 'M-5.5,-3 L-3,-5.5 L0,-2.5 L3,-5.5 L5.5,-3 L2.5,0 L5.5,3 L3,5.5 L0,2.5 L-3,5.5 L-5.5,3 L-2.5,0 z',
  accepted: 'M-5,0 a5,5 0 1,0 10,0 a5,5 0 1,0 -10,0 z',
  already_claimed: 'M0,-6 L6,0 L0,6 L-6,0 z',
  other: 'M-6,-1.5 h4.5 v-4.5 h3 v4.5 h4.5 v3 h-4.5 v4.5 h-3 v-4.5 h-4.5 z',
  sold_out: 'M-4.5,-4.5 h9 v9 h-9 z',
  claim_in_progress: 'M-5.5,4.5 L0,-5.5 L5.5,4.5 z',
  refused: 'M-5.5,-4.5 L5.5,-4.5 L0,5.5 z',
  in_flight: 'M-6,-1.5 h5 v3 h-5 z M1,-1.5 h5 v3 h-5 z',
};

const names = ['ink', 'muted', 'hairline', 'card', 'band', 'accent', 'overlap', 'overlap-soft', 'wait', 'good',
  ...verdicts.map(v => `verdict-${v.replaceAll('_', '-')}`)];

// theme reads the style sheet's colours as they are for the system's light or
// dark scheme.
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const colours = {};
  for (const name of names) colours[camel(name)] = style.getPropertyValue(`--${name}`).trim();
  return {
    ...colours,
    font: `12px ${style.fontFamily}`,
    small: `11px ${style.fontFamily}`,
    verdict: Object.fromEntries(verdicts.map(v => [v, colours[camel(`verdict-${v.replaceAll('_', '-')}`)]])),
  };
}

const camel = name => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

// whenThemeChanges calls back when the system changes between light and dark.
export function whenThemeChanges(callback) {
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', callback);
}

const paths = Object.fromEntries(Object.entries(marks).map(([name, d]) => [name, new Path2D(d)]));

// drawMark draws a verdict's mark with the given radius.
export function drawMark(ctx, verdict, x, y, radius, theme) {
  ctx.save();
  ctx.translate(x, y);
  ctx.scale(radius / 6, radius / 6);
  ctx.lineWidth = 3;
  ctx.lineJoin = 'round';
  ctx.strokeStyle = theme.card;
  ctx.stroke(paths[verdict]);
  ctx.fillStyle = theme.verdict[verdict];
  ctx.fill(paths[verdict]);
  ctx.restore();
}

// hatch returns a pattern of diagonal lines, or the colour alone where there is
// no pattern.
export function hatch(ctx, colour) {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const pen = tile.getContext('2d');
  pen.strokeStyle = colour;
  pen.lineWidth = 1.2;
  for (const x of [-8, 0, 8]) {
    pen.beginPath();
    pen.moveTo(x, 8);
    pen.lineTo(x + 8, 0);
    pen.stroke();
  }
  return ctx.createPattern(tile, 'repeat') ?? colour;
}
