// Races as files: JSON, or the page itself with the race in it.

const block = /(<script type="application\/json" id="saved">)([\s\S]*?)(<\/script>)/;

// raceIn returns the race that a file's text holds, or null.
export function raceIn(text) {
  try {
    const race = JSON.parse(text.match(block)?.[2] ?? text);
    return race?.version === 4 && race.sides?.length > 0 && race.workload ? race : null;
  } catch {
    return null;
  }
}

// pageWith returns the page with a race in it.
export const pageWith = (page, race) => page.replace(block, (_, begin, __, end) => begin + escape(JSON.stringify(race)) + end);

const escape = text => text.replaceAll('<', '\\u003c');
