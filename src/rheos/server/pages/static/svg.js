// Elements of drawings. Texts that come from data go into text nodes and attributes, never into HTML.
const SVG = "http://www.w3.org/2000/svg";

export function svg(name, attributes = {}, ...content) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...content);
  return made;
}

/** A drawing with what it shows in words. */
export const drawing = (width, height, words, ...content) =>
  svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words }, ...content);

/** A text of at most so many signs. */
export const cut = (text, most) => (text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text);
