// StepsBand draws a number that changes in steps as a filled area, for example
// how many critical sections are open.
export class StepsBand {
  // steps are {t, depth}, in the order of time.
  constructor({ title, note, steps, height }) {
    Object.assign(this, { title, note, steps, height });
    this.most = steps.reduce((most, s) => Math.max(most, s.depth), 1);
  }

  draw(ctx, { viewport, box, x, theme }) {
    const now = viewport.cursor ?? viewport.end;
    ctx.fillStyle = theme.accent;
    ctx.globalAlpha = 0.55;
    this.steps.forEach(({ t, depth }, i) => {
      const end = Math.min(this.steps[i + 1]?.t ?? t, now);
      if (depth === 0 || t > Math.min(viewport.to, now) || end < viewport.from) return;
      const height = depth / this.most * (box.bottom - box.top);
      ctx.fillRect(x(t), box.bottom - height, Math.max(0.5, x(end) - x(t)), height);
    });
    ctx.globalAlpha = 1;
  }

  at() { return null; }
}
