// The text of a query comes in, the same text in coloured pieces goes out; for all the languages at once, as
// they share their words.

const KEYWORDS = new Set(
  `ADD ALL AS ASC ASK BASE BIND BY CLEAR CONSTRUCT CONSUMPTION COPY CREATE DATA DEFAULT DELETE DESC DESCRIBE DISTINCT
  DROP EXISTS FILTER FROM GRAPH GROUP HAVING IN INSERT INTO LIMIT LOAD MINUS MOVE NAMED NOT OFFSET OPTIONAL ORDER
  PREFIX REDUCED SELECT SEPARATOR SERVICE SILENT TO UNDEF UNION USING VALUES WHERE WITH A TRUE FALSE RECENT CHRONOLOGICAL
  UNRESTRICTED COMPUTED EVERY`.split(/\s+/),
);
const STREAMING = new Set(
  `REGISTER QUERY STREAM RANGE STEP SLIDE TUMBLING TRIPLES NOW SEQ EQUALS OPTIONALSEQ EQUALSOPTIONAL WITHIN
  AGGREGATE WINDOW ON ELEMENTS RSTREAM ISTREAM DSTREAM UNDER ENTAILMENT REGIME BEFORE AFTER MEETS MET OVERLAPS
  OVERLAPPED STARTS STARTED DURING FINISHES FINISHED`.split(/\s+/),
);
const FUNCTION = /^[A-Za-z_]+$/;

const TOKEN = new RegExp(
  [
    `(?<comment>#[^\\r\\n]*)`,
    `(?<text>'''(?:[^'\\\\]|\\\\[^]|'(?!''))*'''|"""(?:[^"\\\\]|\\\\[^]|"(?!""))*"""|'(?:[^'\\\\\\r\\n]|\\\\.)*'|"(?:[^"\\\\\\r\\n]|\\\\.)*")`,
    `(?<iri><[^<>"{}|^\`\\\\\\x00-\\x20]*>)`,
    `(?<variable>[?$][\\p{L}\\p{N}_]+)`,
    `(?<tag>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)`,
    `(?<prefixed>(?:[\\p{L}][\\p{L}\\p{N}_.-]*)?:(?:[\\p{L}\\p{N}_:.%-]|\\\\.)*)`,
    `(?<number>[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?(?:ms|ns|[smhd])?(?:\\d+(?:ms|ns|[smhd]))*)`,
    `(?<duration>P(?=[\\dT])[\\dDHMST.]+(?![\\w-]))`,
    `(?<word>[A-Za-z_][\\w]*(?:-[A-Za-z_][\\w-]*)*)`,
  ].join("|"),
  "gu",
);

/** Pieces of a text: [kind, from, to]; what is between them has no colour. */
export function pieces(text) {
  return [...text.matchAll(TOKEN)].map((match) => {
    const from = match.index;
    const to = from + match[0].length;
    const kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    if (kind === "duration") return ["number", from, to];
    if (kind !== "word") return [kind, from, to];
    const word = match[0].toUpperCase();
    if (STREAMING.has(word)) return ["streaming", from, to];
    if (KEYWORDS.has(word)) return ["keyword", from, to];
    return [FUNCTION.test(match[0]) && /^\s*\(/.test(text.slice(to)) ? "function" : "name", from, to];
  });
}

/** The place of a mistake, by its line and column from 1 (in characters), as far as the piece there reaches. */
export function place(text, line, column) {
  const lines = text.split("\n").slice(0, line - 1);
  const start = lines.reduce((sum, found) => sum + found.length + 1, 0);
  const before = [...(text.slice(start).split("\n")[0] || "")].slice(0, column - 1).join("");
  let from = Math.min(start + before.length, text.length);
  // Where something is missing at the end of a line, what stands before it is underlined.
  while (from > 0 && /^\s?$/.test(text.charAt(from))) from -= 1;
  const piece = pieces(text).find(([, begin, end]) => begin <= from && from < end);
  return [from, piece ? piece[2] : Math.min(from + 1, text.length)];
}

/** Show a text in an element, with a mistake underlined if there is one ([from, to]). */
export function highlight(element, text, mistake = null) {
  const marks = pieces(text);
  const shown = document.createDocumentFragment();
  let at = 0;
  const add = (kind, until) => {
    while (at < until) {
      const inside = mistake && at >= mistake[0] && at < mistake[1];
      const stop = !mistake ? until : inside ? Math.min(until, mistake[1]) : at < mistake[0] ? Math.min(until, mistake[0]) : until;
      const piece = text.slice(at, stop);
      if (kind || inside) {
        const span = document.createElement("span");
        span.className = [kind && `t-${kind}`, inside && "mistake"].filter(Boolean).join(" ");
        span.textContent = piece;
        shown.append(span);
      } else shown.append(piece);
      at = stop;
    }
  };
  for (const [kind, from, to] of marks) {
    add(null, from);
    add(kind, to);
  }
  add(null, text.length);
  element.replaceChildren(shown);
}
