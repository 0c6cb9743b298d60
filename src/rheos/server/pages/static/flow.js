// What flows where: streams, the queries that read them, the streams that these make, and the sinks of answers, as
// one picture with live numbers, and as a table of the same.
import { again, byId, lateness, make, lately, get, number, put, putLag, seconds, sharded, short } from "./common.js";
import { cut, drawing, svg } from "./svg.js";

const [WIDTH, HEIGHT, ACROSS, DOWN, EDGE] = [196, 52, 78, 14, 8]; // pixels of a box, of what is between two, and around all
const SIGNS = 22;
const RUNS = { local: "this process", catalyst: "Spark SQL" };

const streamId = (iri) => `stream ${iri}`;
const page = (name) => `/page/${encodeURIComponent(name)}`;

/** The boxes and the lines between them. */
function network(streams, queries) {
  const boxes = new Map();
  const lines = [];
  const box = (id, kind, name, href, more) => boxes.set(id, { id, kind, name, href, layer: 0, from: [], ...more });
  const line = (from, to, rate) => {
    if (!boxes.has(from)) return;
    boxes.get(to).from.push(from);
    lines.push({ from, to, rate });
  };
  for (const stream of streams) box(streamId(stream.iri), stream.kind, stream.name, page(stream.name), { stream });
  for (const query of queries) box(`query ${query.name}`, "query", query.name, page(query.name), { query });
  for (const query of queries) {
    const id = `query ${query.name}`;
    for (const iri of query.reads) line(streamId(iri), id, lately(streams.find((stream) => stream.iri === iri)?.rates));
    if (query.stream) line(id, streamId(query.stream), lately(query.rates));
    query.sinks.forEach((sink) => {
      const name = `sink ${query.name} ${sink.to}`;
      box(name, "sink", short(sink.to) || sink.to, null, { sink });
      line(id, name, lately(query.rates));
    });
  }
  // Each box is right of those that it comes from. Rules may read what they make: then nobody is first.
  for (let round = 0, moved = true; moved && round < boxes.size; round += 1) {
    moved = false;
    for (const one of boxes.values()) {
      const layer = Math.max(0, ...one.from.filter((from) => from !== one.id).map((from) => boxes.get(from).layer + 1));
      if (layer > one.layer && layer < 12) [one.layer, moved] = [layer, true];
    }
  }
  return { boxes: [...boxes.values()], lines };
}

/** Give the boxes their places: in each column near what they come from. */
function lay(boxes) {
  const columns = [];
  boxes.forEach((box) => (columns[box.layer] ??= []).push(box));
  const known = new Map(boxes.map((box) => [box.id, box]));
  const tallest = Math.max(...columns.map((column) => column.length));
  columns.forEach((column, layer) => {
    const middle = (box) => (box.from.length ? box.from.reduce((sum, id) => sum + (known.get(id).y ?? 0), 0) / box.from.length : 0);
    if (layer) column.sort((a, b) => middle(a) - middle(b));
    const top = ((tallest - column.length) * (HEIGHT + DOWN)) / 2;
    column.forEach((box, index) => ([box.x, box.y] = [EDGE + layer * (WIDTH + ACROSS), EDGE + top + index * (HEIGHT + DOWN)]));
  });
  return [columns.length * (WIDTH + ACROSS) - ACROSS + 2 * EDGE, tallest * (HEIGHT + DOWN) - DOWN + 2 * EDGE];
}

/** How a box is to be seen, and what it says beside its name. */
function state({ stream, query, sink }) {
  if (stream) {
    if (stream.trouble) return ["bad", stream.trouble];
    const rate = `${number(lately(stream.rates))}/s`;
    if (stream.kind === "derived") return ["", rate];
    if (stream.ended) return ["", `${rate} · ended`];
    return [lateness(stream.lag), stream.lag === null ? rate : `${rate} · ${seconds(stream.lag)} behind`];
  }
  if (query) {
    if (query.error) return ["bad", "failed"];
    if (!query.running) return ["off", "stopped"];
    const took = query.milliseconds === null ? "" : ` · ${seconds(query.milliseconds / 1000)}`;
    return [lateness(query.lag), `${number(lately(query.rates))} rows/s${took}`];
  }
  if (sink.trouble) return ["bad", sink.trouble];
  return [sink.waiting ? lateness(sink.behind) : "good", sink.waiting ? `${number(sink.waiting)} wait · ${seconds(sink.behind)}` : `${number(sink.taken)} taken`];
}

function drawn(box) {
  const text = svg("text", { x: box.x + 14, y: box.y + 39, class: "says" });
  const title = svg("title");
  const rect = svg("rect", { x: box.x, y: box.y, width: WIDTH, height: HEIGHT, rx: box.kind === "query" ? 26 : 8, class: `box ${box.kind}` });
  const lamp = svg("circle", { cx: box.x + WIDTH - 18, cy: box.y + 17, r: 5, class: "lamp" });
  const name = svg("text", { x: box.x + 14, y: box.y + 21, class: "name" }, cut(box.name, SIGNS));
  const group = svg(box.href ? "a" : "g", { href: box.href }, rect, name, text, lamp, title);
  return { group, update: (now) => {
    const [seen, says] = state(now);
    put(text, cut(says, 27));
    put(title, `${now.sink ? now.sink.to : now.name}\n${says}${now.query?.error ? `\n${now.query.error}` : ""}`);
    lamp.setAttribute("class", `lamp ${seen}`);
    rect.setAttribute("class", `box ${now.kind} ${seen}`);
  } };
}

function curve(from, to) {
  const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x, to.y + HEIGHT / 2];
  const bend = Math.max(36, Math.abs(x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}

let shape = "";
let [parts, paths] = [new Map(), new Map()];
const lineId = ({ from, to }) => `${from} → ${to}`;

function draw(boxes, lines) {
  const now = JSON.stringify([boxes.map((box) => [box.id, box.kind]), lines.map(lineId)]);
  if (now !== shape) {
    shape = now;
    const [width, height] = lay(boxes);
    const known = new Map(boxes.map((box) => [box.id, box]));
    paths = new Map(lines.map((line) => [lineId(line), svg("path", { d: curve(known.get(line.from), known.get(line.to)), class: "line" }, svg("title"))]));
    parts = new Map(boxes.map((box) => [box.id, drawn(box)]));
    const picture = drawing(width, height, "What flows where; the table below says the same", ...paths.values(), ...[...parts.values()].map(({ group }) => group));
    picture.setAttribute("role", "group"); // its boxes are links
    byId("flow").replaceChildren(picture);
  }
  boxes.forEach((box) => parts.get(box.id).update(box));
  for (const line of lines) {
    const path = paths.get(lineId(line));
    path.setAttribute("stroke-width", line.rate > 0 ? 1.2 + Math.min(5, Math.log10(1 + line.rate) * 1.6) : 1);
    path.setAttribute("class", line.rate > 0 ? "line flows" : "line");
    put(path.firstChild, `${number(line.rate)} a second`);
  }
}

/** The rows of the table, which are filled again and again. */
function list(streams, queries) {
  const body = byId("work").tBodies[0];
  const known = new Map(streams.map((stream) => [stream.iri, stream]));
  const names = JSON.stringify(queries.map((query) => [query.name, query.reads, query.stream, query.sinks.map((sink) => sink.to)]));
  if (body.dataset.known !== names) {
    body.dataset.known = names;
    const link = (name) => make("a", { href: page(name) }, name);
    const joined = (items) => items.flatMap((item, index) => (index ? [", ", item] : [item]));
    body.replaceChildren(
      ...queries.map((query) => {
        const reads = query.reads.map((iri) => (known.has(iri) ? link(known.get(iri).name) : iri));
        const to = [...(query.stream ? [`the stream ${query.name}`] : []), ...query.sinks.map((sink) => sink.to)];
        const cells = Array.from({ length: 6 }, () => make("td"));
        return make("tr", {}, make("th", { scope: "row" }, link(query.name)), make("td", {}, ...joined(reads)), make("td", {}, to.join(", ") || "–"), ...cells);
      }),
    );
  }
  queries.forEach((query, index) => {
    const [entering, leaving, lag, took, shards, runs] = [...body.rows[index].cells].slice(3);
    put(entering, number(query.reads.reduce((sum, iri) => sum + lately(known.get(iri)?.rates), 0)));
    put(leaving, number(lately(query.rates)));
    putLag(lag, query.lag);
    put(took, query.milliseconds === null ? "–" : seconds(query.milliseconds / 1000));
    put(shards, sharded(query));
    put(runs, query.executors.join(", ") || RUNS[query.execution] || "–");
  });
}

again(async () => {
  const [{ streams }, { queries }] = await Promise.all([get("/streams"), get("/queries")]);
  if (!streams.length && !queries.length) return put(byId("flow"), "There are no streams yet.");
  const { boxes, lines } = network(streams, queries);
  draw(boxes, lines);
  list(streams, queries);
}, 1000);
