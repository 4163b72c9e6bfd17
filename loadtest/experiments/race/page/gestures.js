// Gestures moves a timeline's viewport and points at its items: wheel, drag,
// pinch and keys.

// addGestures calls point(x, y) while a mouse or pen moves over the canvas or a
// finger taps it, choose(x, y) when it is clicked or tapped, leave() when it has
// left, and step(±1) for the keys up and down.
export function addGestures(timeline, { point, choose, leave, step }) {
  const { canvas, viewport } = timeline;
  addWheel(timeline);
  addKeys(canvas, viewport, step, leave);
  addPointers(timeline, point, choose, leave);
  canvas.addEventListener('dblclick', () => viewport.reset());
}

// The wheel zooms with Ctrl or on a timeline that has the focus. Otherwise it
// scrolls the page.
function addWheel(timeline) {
  const { canvas, viewport } = timeline;
  canvas.addEventListener('wheel', event => {
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      viewport.pan(event.deltaX / canvas.clientWidth * viewport.span);
    } else if (event.ctrlKey || event.metaKey || document.activeElement === canvas) {
      event.preventDefault();
      viewport.zoom(1.0015 ** event.deltaY, timeline.time(event.offsetX));
    }
  }, { passive: false });
}

function addKeys(canvas, viewport, step, leave) {
  const actions = {
    '+': () => viewport.zoom(1 / 1.5), '=': () => viewport.zoom(1 / 1.5), '-': () => viewport.zoom(1.5),
    ArrowLeft: () => viewport.pan(-viewport.span / 8), ArrowRight: () => viewport.pan(viewport.span / 8),
    Home: () => viewport.show(0, viewport.span), End: () => viewport.show(viewport.end - viewport.span, viewport.end),
    '0': () => viewport.reset(), ArrowUp: () => step(-1), ArrowDown: () => step(1), Escape: leave,
  };
  canvas.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}

// One pointer: a mouse selects the part to zoom to, with Shift it moves the
// viewport, as a finger does. Two fingers zoom.
function addPointers(timeline, point, choose, leave) {
  const { canvas, viewport } = timeline;
  const pointers = new Map();
  let start = null;
  canvas.addEventListener('pointerdown', event => {
    pointers.set(event.pointerId, event.offsetX);
    canvas.setPointerCapture(event.pointerId);
    start = { x: event.offsetX, selects: event.pointerType === 'mouse' && !event.shiftKey };
  });
  canvas.addEventListener('pointermove', event => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) return point(event.offsetX, event.offsetY);
    if (pointers.size === 2) pinch(timeline, pointers, event);
    else if (start.selects) select(timeline, start.x, event.offsetX);
    else viewport.pan(timeline.time(before) - timeline.time(event.offsetX));
    pointers.set(event.pointerId, event.offsetX);
  });
  const end = event => {
    if (!pointers.delete(event.pointerId)) return;
    const [from, to] = [start.x, event.offsetX].sort((a, b) => a - b);
    timeline.selection = null;
    if (to - from < 5) {
      point(event.offsetX, event.offsetY);
      choose(event.offsetX, event.offsetY);
    } else if (start.selects && event.type === 'pointerup') viewport.show(timeline.time(from), timeline.time(to));
    timeline.redraw();
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', end);
  canvas.addEventListener('pointerleave', leave);
}

function select(timeline, from, to) {
  timeline.selection = { from: Math.min(from, to), to: Math.max(from, to) };
  timeline.redraw();
}

function pinch(timeline, pointers, event) {
  const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
  const before = Math.abs(pointers.get(event.pointerId) - other);
  const after = Math.abs(event.offsetX - other);
  if (before > 10 && after > 10) timeline.viewport.zoom(before / after, timeline.time((event.offsetX + other) / 2));
}
