// A graph: triples come in, nodes and edges go out, laid out by what pulls them together and pushes them apart.
// The same triples always give the same picture.
import { label, short } from "./common.js";
import { cut, drawing, svg } from "./svg.js";

const MOST = 40; // nodes
const ROOM = 8500; // square pixels of each
const ROUNDS = 300;
const HEIGHT = 380;
const NODE = 26; // pixels of the height of a node
const SIGN = 7;
const TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";

const keyOf = (term) => `${term.type} ${term.value} ${term.datatype || ""} ${term["xml:lang"] || ""}`;

/** The nodes and edges of some triples. What an edge says is its predicate; several between two nodes are one. */
export function network(triples, most = MOST) {
  const nodes = new Map();
  const edges = new Map();
  let left = 0;
  const node = (term) => {
    const key = keyOf(term);
    if (!nodes.has(key)) {
      if (nodes.size >= most) return null;
      const text = cut(label(term), 22);
      nodes.set(key, { text, title: term.value, type: term.type, width: text.length * SIGN + 18 });
    }
    return nodes.get(key);
  };
  for (const { subject, predicate, object } of triples) {
    const [from, to] = [node(subject), node(object)];
    if (!from || !to) {
      left += 1;
      continue;
    }
    const key = `${keyOf(subject)} ${keyOf(object)}`;
    if (!edges.has(key)) edges.set(key, { from, to, says: new Set() });
    edges.get(key).says.add(predicate.value === TYPE ? "a" : short(predicate.value));
  }
  return { nodes: [...nodes.values()], edges: [...edges.values()], left };
}

/** Give the nodes their places. */
function lay(nodes, edges, width) {
  const area = width * HEIGHT;
  const ideal = Math.sqrt(area / Math.max(nodes.length, 1)) * 0.75;
  nodes.forEach((node, index) => {
    const turn = index * 2.399963; // the golden angle: none is on top of another
    const out = 0.42 * Math.sqrt((index + 0.5) / nodes.length);
    [node.x, node.y] = [width * (0.5 + out * Math.cos(turn)), HEIGHT * (0.5 + out * Math.sin(turn))];
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    const heat = ideal * 0.25 * (1 - round / ROUNDS) + 0.5;
    nodes.forEach((node) => ([node.dx, node.dy] = [(width / 2 - node.x) * 0.02, (HEIGHT / 2 - node.y) * 0.05]));
    nodes.forEach((one, index) =>
      nodes.slice(index + 1).forEach((other) => {
        // Names are wide and not high, so that what is beside another has to be further away.
        const [dx, dy] = [(one.x - other.x) * 0.55, one.y - other.y];
        const far = Math.max(1, Math.hypot(dx, dy));
        const push = (ideal * ideal) / (far * far);
        for (const [node, sign] of [[one, 1], [other, -1]]) {
          node.dx += sign * dx * push * 0.5;
          node.dy += sign * dy * push * 0.5;
        }
      }),
    );
    for (const { from, to } of edges) {
      if (from === to) continue;
      const [dx, dy] = [to.x - from.x, to.y - from.y];
      const pull = Math.hypot(dx, dy) / ideal / 6;
      from.dx += dx * pull;
      from.dy += dy * pull;
      to.dx -= dx * pull;
      to.dy -= dy * pull;
    }
    for (const node of nodes) {
      const far = Math.max(1, Math.hypot(node.dx, node.dy));
      const [x, y] = [node.x + (node.dx / far) * Math.min(far, heat), node.y + (node.dy / far) * Math.min(far, heat)];
      node.x = Math.min(width - node.width / 2 - 4, Math.max(node.width / 2 + 4, x));
      node.y = Math.min(HEIGHT - NODE, Math.max(NODE, y));
    }
  }
}

export class Graph {
  constructor(place, colours) {
    [this.place, this.colours, this.triples] = [place, colours, []];
    new ResizeObserver(() => this.width !== place.clientWidth && this.draw()).observe(place);
    addEventListener("theme", () => this.draw());
  }

  show(triples) {
    this.triples = triples;
    this.draw();
  }

  draw() {
    this.width = this.place.clientWidth;
    if (!this.triples.length || !this.width) return;
    const { nodes, edges, left } = network(this.triples, Math.min(MOST, Math.max(8, Math.floor((this.width * HEIGHT) / ROOM))));
    lay(nodes, edges, this.width);
    const arrow = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z" }));
    const words = `a graph of ${nodes.length} nodes and ${edges.length} edges; the table has the same triples`;
    const shown = drawing(this.width, HEIGHT, words, svg("defs", {}, arrow), ...edges.map(edge), ...nodes.map((node) => this.node(node)));
    const rest = left ? [Object.assign(document.createElement("p"), { className: "quiet small", textContent: `and ${left} more triples` })] : [];
    this.place.replaceChildren(shown, ...rest);
  }

  node({ text, title, type, width, x, y }) {
    const attributes = { x: x - width / 2, y: y - NODE / 2, width, height: NODE, rx: type === "literal" ? 3 : NODE / 2, class: `node ${type}` };
    const box = svg("rect", attributes, svg("title", {}, title));
    if (type === "uri") box.style.stroke = this.colours.of(text);
    return svg("g", {}, box, svg("text", { x, y: y + 4, class: "label", "text-anchor": "middle" }, text));
  }
}

function edge({ from, to, says }) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  // The line ends where the box of the node begins.
  const reach = Math.min(to.width / 2 / Math.max(Math.abs(dx), 0.01), NODE / 2 / Math.max(Math.abs(dy), 0.01), 1);
  const [x, y] = [to.x - dx * reach, to.y - dy * reach];
  const path = from === to ? `M${from.x} ${from.y - NODE / 2}c-30 -34 30 -34 4 0` : `M${from.x} ${from.y}L${x} ${y}`;
  const at = from === to ? [from.x, from.y - NODE - 12] : [(from.x + x) / 2, (from.y + y) / 2 - 4];
  const text = cut([...says].join(", "), 24);
  return svg("g", { class: "edge" }, svg("path", { d: path, "marker-end": "url(#arrow)" }), svg("text", { x: at[0], y: at[1], class: "tick", "text-anchor": "middle" }, text, svg("title", {}, [...says].join(", "))));
}
