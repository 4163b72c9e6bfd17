// Time on pictures: ticks, and times as text.

// duration returns a time in microseconds as text, like 12.3 ms.
export function duration(us, digits = 3) {
  const [unit, size] = us >= 1e6 ? ['s', 1e6] : us >= 1e3 ? ['ms', 1e3] : ['µs', 1];
  const value = us / size;
  const decimals = Math.max(0, digits - Math.max(1, Math.ceil(Math.log10(value + 1e-9))));
  return `${unit === 'µs' ? Math.round(value) : value.toFixed(Math.min(decimals, 2))} ${unit}`;
}

// ticks returns about count round moments between from and to.
export function ticks(from, to, count) {
  const step = roundUp((to - from) / count);
  const moments = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) moments.push(t);
  return moments;
}

function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find(m => m * power >= value);
}

// tickLabel returns the text of a tick. All ticks of an axis have one unit.
export function tickLabel(moment, to) {
  if (moment === 0) return '0';
  const [unit, size] = to >= 2e6 ? ['s', 1e6] : to >= 2e3 ? ['ms', 1e3] : ['µs', 1];
  return `${Number((moment / size).toFixed(3))} ${unit}`;
}

// drawAxis draws the ticks of a viewport: lines over the height of the picture,
// and labels in the box {left, right, top, bottom}.
export function drawAxis(ctx, viewport, box, theme) {
  const x = t => box.left + (t - viewport.from) / viewport.span * (box.right - box.left);
  ctx.font = theme.small;
  ctx.textBaseline = 'middle';
  for (const t of ticks(Math.max(0, viewport.from), viewport.to, (box.right - box.left) / 90)) {
    ctx.fillStyle = theme.hairline;
    ctx.fillRect(Math.round(x(t)), 0, 1, box.top);
    ctx.fillStyle = theme.muted;
    const label = tickLabel(t, viewport.to);
    const width = ctx.measureText(label).width;
    ctx.fillText(label, Math.min(Math.max(box.left, x(t) - width / 2), box.right - width), (box.top + box.bottom) / 2);
  }
}
