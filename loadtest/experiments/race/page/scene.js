// The scene is what the pictures show, in the data's own units. It is for tests
// and for scripts; the page does not read it.
import { ClaimsBand } from './claims_band.js';
import { SectionsBand } from './sections_band.js';

// sceneOf describes what the given views have drawn last, at each reading.
export function sceneOf(viewport, views) {
  return {
    get viewport() { return { from: viewport.from, to: viewport.to, end: viewport.end, cursor: viewport.cursor }; },
    get sides() { return shown(views).map(sideOf); },
    get drawings() { return shown(views).flatMap(view => view.timelines).map(({ drawings, milliseconds }) => ({ drawings, milliseconds })); },
  };
}

const shown = views => views.filter(view => view.root.isConnected);

const sideOf = view => ({
  claims: drawn(view, ClaimsBand, 'drawn').map(({ band, item, y, verdict }) => ({
    n: item.claim.n, lane: band.title, verdict, from: item.from, to: item.to, y, ...edges(view, item.from, item.to),
  })),
  sections: drawn(view, SectionsBand, 'drawn').map(({ item, key, from, to, y }) => ({ key, user: item.user, from, to, y, ...edges(view, from, to) })),
  overlaps: drawn(view, SectionsBand, 'drawnOverlaps').map(({ key, from, to, depth, x, y, width }) => ({ key, from, to, depth, x, y, width })),
  statements: view.incident.root.hidden ? [] : view.incident.timeline.bands.flatMap(band => band.drawn ?? []),
  chart: view.stock?.data,
});

const drawn = (view, kind, list) => view.timelines.flatMap(timeline => timeline.bands).filter(b => b instanceof kind).flatMap(band => band[list].map(d => ({ band, ...d })));

const edges = ({ sections }, from, to) => ({ left: sections.x(from), right: sections.x(to) });
