// StatementsBand draws what happened inside critical sections: a row for each
// claim, a box for each statement, and arrows from what was read to what was done.
import { statementsOf } from './statements.js';

const labels = { look: 'SELECT', read: 'SELECT', update: 'UPDATE', insert: 'INSERT', commit: 'COMMIT', rollback: 'ROLLBACK' };
const colours = { look: 'accent', read: 'accent', update: 'verdictClaimInProgress', insert: 'verdictAccepted', commit: 'ink', rollback: 'muted' };

export class StatementsBand {
  // rows are {claim, section, title, wrong}. arrows are {from, to, colour, text},
  // of which from and to are [row, moment]; a visible moment is {row, t, text}.
  // noteOf returns the text below a statement.
  constructor({ title, note, rows, arrows, visible, noteOf }) {
    Object.assign(this, { title, note, rows, arrows, visible, noteOf, height: rows.length * rowHeight + head });
  }

  draw(ctx, { box, x, theme }) {
    this.drawn = [];
    const top = i => box.top + head + i * rowHeight;
    if (this.visible) this.#drawVisible(ctx, box, x(this.visible.t), top(this.visible.row), theme);
    for (const { from, to, colour } of this.arrows) {
      arrow(ctx, x(from[1]), top(from[0]) + from[2], x(to[1]), top(to[0]) + to[2], theme[colour]);
    }
    this.rows.forEach((row, i) => this.#drawRow(ctx, row, top(i), x, theme));
  }

  #drawRow(ctx, { claim, section, title, wrong }, top, x, theme) {
    ctx.font = theme.small;
    ctx.textBaseline = 'middle';
    const [from, to] = section ? [section.granted, section.released] : [claim.sent, claim.answered];
    ctx.fillStyle = theme.band;
    const left = Math.max(titleWidth - 4, x(from));
    ctx.fillRect(left, top, Math.max(2, x(to) - left), boxHeight);
    outlined(ctx, title, 0, top + boxHeight / 2, theme.ink, theme.card);
    const free = { above: -Infinity, below: -Infinity }; // where the next text may begin
    for (const step of statementsOf(section)) {
      const bad = step.error || wrong && step.kind === 'insert';
      const [left, right] = [x(step.begin), Math.max(x(step.begin) + 3, x(step.end))];
      ctx.fillStyle = bad ? theme.overlap : theme[colours[step.kind]];
      ctx.fillRect(left, top, right - left, boxHeight);
      this.#drawTexts(ctx, step, left, right, top, free, theme, bad);
      this.drawn.push({ claim: claim.n, kind: step.kind, left, right, y: top });
    }
  }

  // drawTexts names a statement in its box, or above it where the box is too small,
  // and says below what it has read.
  #drawTexts(ctx, step, left, right, top, free, theme, bad) {
    const [name, note] = [labels[step.kind], this.noteOf(step)];
    const width = ctx.measureText(name).width;
    if (width + 6 <= right - left) {
      ctx.fillStyle = theme.card;
      ctx.fillText(name, left + (right - left - width) / 2, top + boxHeight / 2 + 0.5);
    } else if (left >= free.above) {
      outlined(ctx, name, left, top - 7, theme.ink, theme.card);
      free.above = left + width + 4;
    }
    if (!note || left < free.below) return;
    outlined(ctx, note, left, top + boxHeight + 8, bad ? theme.overlap : theme.muted, theme.card);
    free.below = left + ctx.measureText(note).width + 4;
  }

  #drawVisible(ctx, box, at, top, theme) {
    ctx.strokeStyle = theme.ink;
    ctx.lineWidth = 1;
    ctx.setLineDash([3, 3]);
    ctx.beginPath();
    ctx.moveTo(at, box.top + 10);
    ctx.lineTo(at, box.bottom);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.font = theme.small;
    ctx.textBaseline = 'middle';
    const width = ctx.measureText(this.visible.text).width;
    outlined(ctx, this.visible.text, Math.min(Math.max(box.left, at - width / 2), box.right - width), box.top + 2, theme.ink, theme.card);
  }

  at() { return null; }
}

export const titleWidth = 88; // of the rows' titles, at the left
const head = 26; // for the text of the visible moment
const rowHeight = 46;
const boxHeight = 17;

// arrow draws a curve with a head.
function arrow(ctx, x1, y1, x2, y2, colour) {
  const middle = [(x1 + x2) / 2, y1 === y2 ? y1 + 26 : (y1 + y2) / 2];
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.quadraticCurveTo(...middle, x2, y2);
  ctx.stroke();
  const angle = Math.atan2(y2 - middle[1], x2 - middle[0]);
  ctx.beginPath();
  ctx.moveTo(x2, y2);
  for (const turn of [-0.45, 0.45]) ctx.lineTo(x2 - 9 * Math.cos(angle + turn), y2 - 9 * Math.sin(angle + turn));
  ctx.fill();
}

// outlined draws a text with a border in the colour of what is behind it.
export function outlined(ctx, words, x, y, colour, behind) {
  ctx.lineWidth = 4;
  ctx.lineJoin = 'round';
  ctx.strokeStyle = behind;
  ctx.strokeText(words, x, y);
  ctx.fillStyle = colour;
  ctx.fillText(words, x, y);
}
