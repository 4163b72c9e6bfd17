// Small functions for the document.

// element makes an element with properties or attributes, and children.
export function element(tag, properties = {}, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in e) e[name] = value;
    else e.setAttribute(name, value);
  }
  e.append(...children);
  return e;
}

export const find = (selector, root = document) => root.querySelector(selector);

// setText sets a text that is another one: what is set again may be read again.
export function setText(e, text) {
  if (e.textContent !== text) e.textContent = text;
}

// drawing returns an SVG element of one path, 16 units wide and high.
export function drawing(path, name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  svg.setAttribute('viewBox', '-8 -8 16 16');
  svg.setAttribute('aria-hidden', 'true');
  svg.setAttribute('class', `mark ${name}`);
  line.setAttribute('d', path);
  svg.append(line);
  return svg;
}

// offer lets the browser save a text as a file.
export function offer(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  element('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
