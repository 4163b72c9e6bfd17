// The story of one claim, as a text.
import { duration } from './axis.js';
import { verdictOf } from './race.js';
import { strings } from './strings.js';

// sectionOf returns the critical section of a claim. Where the instance has not
// reported the claim, it is the section of the same user on the same instance
// during the claim, if there is one only.
export function sectionOf(side, claim) {
  const named = side.sections.find(s => s.claim === claim.n);
  if (named) return named;
  const during = side.sections.filter(s => (s.claim ?? -1) < 0 && s.user === claim.user && s.instance === claim.instance &&
    s.wanted >= claim.sent && (claim.answered < 0 || s.granted <= claim.answered));
  return during.length === 1 ? during[0] : undefined;
}

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
  parts.push(story.answered(duration(claim.answered - claim.sent), verdicts[verdictOf(claim)]), story.status(claim.status, claim.code));
  if (claim.order) parts.push(story.order(claim.order));
  return parts;
}

function sectionStory(side, section) {
  const claim = side.claims.get(section.claim);
  if (claim) return claimStory(side, claim);
  return [strings.story.section(section.key, section.user, section.instance), ...insideStory(side, section)];
}

function insideStory(side, section) {
  const others = side.sections.filter(s => s !== section && s.key === section.key && s.granted < section.released && s.released > section.granted);
  return [strings.story.waited(duration(section.granted - section.wanted)), strings.story.inside(duration(section.released - section.granted), others.length)];
}
