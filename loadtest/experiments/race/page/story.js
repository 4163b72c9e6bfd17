// The story of one claim, as a text.
import { duration } from './axis.js';
import { keyName } from './names.js';
import { verdictOf } from './race.js';
import { strings } from './strings.js';

// sectionOf returns the critical section of a claim.
const sectionOf = (side, claim) => side.sections.find(s => s.claim !== '' && Number(s.claim) === claim.n);

// storyOf tells what happened to a claim or in a critical section.
export function storyOf(side, item) {
  return 'claim' in item && typeof item.claim === 'object' ? claimStory(side, item.claim) : sectionStory(side, item);
}

function claimStory(side, claim) {
  const { story, verdicts } = strings;
  const section = sectionOf(side, claim);
  const parts = [story.claim(claim.n, claim.user, claim.instance), story.sent(duration(claim.sent))];
  if (section) parts.push(...insideStory(side, section));
  if (claim.answered < 0) return [...parts, story.flying];
  const verdict = side.derived.wrong.has(claim.n) ? 'wrong' : verdictOf(claim);
  parts.push(story.answered(duration(claim.answered - claim.sent), verdicts[verdict]), story.status(claim.status, claim.code));
  if (claim.order) parts.push(story.order(claim.order));
  return parts;
}

function sectionStory(side, section) {
  const claim = side.claims.get(Number(section.claim));
  if (claim) return claimStory(side, claim);
  return [strings.story.section(keyName(side.settings.lock, section.key), section.user, section.instance), ...insideStory(side, section)];
}

function insideStory(side, section) {
  const others = side.sections.filter(s => s !== section && s.key === section.key && s.granted < section.released && s.released > section.granted);
  return [strings.story.waited(duration(section.granted - section.wanted)), strings.story.inside(duration(section.released - section.granted), others.length)];
}
