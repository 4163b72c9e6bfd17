// StepsBand draws a number that changes in steps as a filled area, for example
// how many critical sections are open.
export class StepsBand {
  // steps are {t, depth}, in the order of time.
  constructor({ title, note, steps, height }) {
    Object.assign(this, { title, note, steps, height });
    this.most = steps.reduce((most, s) => Math.max(most, s.depth), 1);
  }

  draw(ctx, { viewport, box, x, theme }) {
    const now = Math.min(viewport.cursor ?? viewport.end, viewport.to);
    const y = depth => box.bottom - depth / this.most * (box.bottom - box.top);
    ctx.beginPath();
    ctx.moveTo(x(viewport.from), y(0));
    let before = this.steps.findLast(s => s.t < viewport.from)?.depth ?? 0;
    let column = { x: x(viewport.from), most: before }; // the steps of one pixel are drawn as the highest of them
    for (const { t, depth } of this.steps) {
      if (t < viewport.from) continue;
      if (t > now) break;
      if (x(t) - column.x >= 1) {
        ctx.lineTo(column.x, y(column.most));
        ctx.lineTo(column.x, y(before));
        ctx.lineTo(x(t), y(before));
        ctx.lineTo(x(t), y(depth));
        column = { x: x(t), most: depth };
      }
      column.most = Math.max(column.most, depth);
      before = depth;
    }
    ctx.lineTo(column.x, y(column.most));
    ctx.lineTo(column.x, y(before));
    ctx.lineTo(x(now), y(before));
    ctx.lineTo(x(now), y(0));
    ctx.fillStyle = theme.accent;
    ctx.globalAlpha = 0.7;
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  at() { return null; }
}
