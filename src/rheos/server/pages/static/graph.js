// A graph: triples come in, nodes and edges go out, laid out by what pulls them together and pushes them apart.
// The same triples always give the same picture.
import { label, make, short } from "./common.js";
import { cut, drawing, svg } from "./svg.js";

const MOST = 40; // nodes
const ROOM = 8500; // square pixels of each
const ROUNDS = 300;
const [LOW, HIGH] = [150, 400]; // pixels of the height, which few nodes need less of
const EACH = 22;
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

/** Give the nodes their places: edges pull, nodes push, and what comes out is made as large as its room. */
function lay(nodes, edges, width, height) {
  nodes.forEach((node, index) => {
    const turn = index * 2.399963; // the golden angle: none is on top of another
    [node.x, node.y] = [Math.sqrt(index + 1) * Math.cos(turn), Math.sqrt(index + 1) * Math.sin(turn)];
  });
  for (let round = 0; round < ROUNDS; round += 1) {
    const heat = 1.2 * (1 - round / ROUNDS) + 0.02;
    nodes.forEach((node) => ([node.dx, node.dy] = [-node.x * 0.45, -node.y * 0.45]));
    nodes.forEach((one, index) => nodes.slice(index + 1).forEach((other) => {
      const [dx, dy] = [one.x - other.x, one.y - other.y];
      const push = 1 / Math.max(dx * dx + dy * dy, 0.01);
      move(one, dx * push, dy * push);
      move(other, -dx * push, -dy * push);
    }));
    for (const { from, to } of edges) {
      const [dx, dy] = [to.x - from.x, to.y - from.y];
      const pull = Math.hypot(dx, dy) * 0.2;
      move(from, dx * pull, dy * pull);
      move(to, -dx * pull, -dy * pull);
    }
    for (const node of nodes) {
      const slow = Math.min(1, heat / Math.max(Math.hypot(node.dx, node.dy), 0.001));
      [node.x, node.y] = [node.x + node.dx * slow, node.y + node.dy * slow];
    }
  }
  const widest = Math.max(...nodes.map((node) => node.width));
  stretch(nodes, "x", widest / 2 + 6, width - widest / 2 - 6, 190);
  stretch(nodes, "y", NODE, height - NODE, 110);
  for (let round = 0; round < 60; round += 1) part(nodes, width, height);
}

function move(node, dx, dy) {
  node.dx += dx;
  node.dy += dy;
}

/** Let the places along an axis fill it; those of few nodes come no further apart than `most` for each. */
function stretch(nodes, axis, from, until, most) {
  const all = nodes.map((node) => node[axis]);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const room = Math.min(until - from, most * (nodes.length - 1));
  const middle = (from + until) / 2;
  nodes.forEach((node) => (node[axis] = high - low < 0.01 ? middle : middle + ((node[axis] - low) / (high - low) - 0.5) * room));
}

/** Move boxes apart that lie on each other, along the axis on which less is needed. */
function part(nodes, width, height) {
  nodes.forEach((one, index) => nodes.slice(index + 1).forEach((other) => {
    const [dx, dy] = [other.x - one.x, other.y - one.y];
    const [wide, tall] = [(one.width + other.width) / 2 + 12 - Math.abs(dx), NODE + 12 - Math.abs(dy)];
    if (wide <= 0 || tall <= 0) return;
    const axis = tall < wide ? "y" : "x";
    const by = (Math.min(tall, wide) / 2) * ((axis === "y" ? dy : dx) < 0 ? -1 : 1);
    one[axis] -= by;
    other[axis] += by;
  }));
  for (const node of nodes) {
    node.x = Math.min(width - node.width / 2 - 4, Math.max(node.width / 2 + 4, node.x));
    node.y = Math.min(height - NODE / 2 - 4, Math.max(NODE / 2 + 4, node.y));
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
    const { nodes, edges, left } = network(this.triples, Math.min(MOST, Math.max(8, Math.floor((this.width * HIGH) / ROOM))));
    const height = Math.min(HIGH, LOW + EACH * (nodes.length - 2));
    lay(nodes, edges, this.width, height);
    const arrow = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z" }));
    const words = `a graph of ${nodes.length} nodes and ${edges.length} edges; the table has the same triples`;
    // What all edges say is said once, where there are many.
    const said = new Set(edges.flatMap((found) => [...found.says]));
    const same = edges.length > 3 && said.size === 1;
    const shown = drawing(this.width, height, words, svg("defs", {}, arrow), ...edges.map((found) => edge(found, same)), ...nodes.map((node) => this.node(node)));
    const rest = [...(same ? [`All edges are ${[...said][0]}.`] : []), ...(left ? [`And ${left} more triples.`] : [])];
    this.place.replaceChildren(shown, ...(rest.length ? [make("p", { class: "quiet small" }, rest.join(" "))] : []));
  }

  node({ text, title, type, width, x, y }) {
    const attributes = { x: x - width / 2, y: y - NODE / 2, width, height: NODE, rx: type === "literal" ? 3 : NODE / 2, class: `node ${type}` };
    const box = svg("rect", attributes, svg("title", {}, title));
    if (type === "uri") box.style.stroke = this.colours.of(text);
    return svg("g", {}, box, svg("text", { x, y: y + 4, class: "label", "text-anchor": "middle" }, text));
  }
}

function edge({ from, to, says }, silent) {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  // The line ends where the box of the node begins.
  const reach = Math.min(to.width / 2 / Math.max(Math.abs(dx), 0.01), NODE / 2 / Math.max(Math.abs(dy), 0.01), 1);
  const [x, y] = [to.x - dx * reach, to.y - dy * reach];
  const path = from === to ? `M${from.x} ${from.y - NODE / 2}c-30 -34 30 -34 4 0` : `M${from.x} ${from.y}L${x} ${y}`;
  const at = from === to ? [from.x, from.y - NODE - 12] : [(from.x + x) / 2, (from.y + y) / 2 - 4];
  const all = [...says].join(", ");
  const line = svg("path", { d: path, "marker-end": "url(#arrow)" });
  const text = svg("text", { x: at[0], y: at[1], class: "tick", "text-anchor": "middle" }, cut(all, 24), svg("title", {}, all));
  return svg("g", { class: "edge" }, line, ...(silent ? [] : [text]));
}
