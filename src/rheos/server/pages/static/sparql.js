// Where a query is asked once: it goes to /sparql, and its answer comes back as a table, as JSON, and where it has
// triples or places as a graph or a map.
import { Colours } from "./colours.js";
import { byId, get, make, notice, number, put, Refused, seconds, term, triple } from "./common.js";
import { broughtAlong, Editing, offer, takeAlong } from "./editing.js";
import { Graph } from "./graph.js";
import { placeOf, Places } from "./map.js";

const JSON_TYPE = "application/sparql-results+json";
const TRIPLES = "application/n-triples";
const MOST = 1000; // rows that are shown
const SOLUTIONS = { JSON: [JSON_TYPE, "json"], CSV: ["text/csv", "csv"], TSV: ["text/tab-separated-values", "tsv"], XML: ["application/sparql-results+xml", "xml"] };
const GRAPHS = { Turtle: ["text/turtle", "ttl"], "N-Triples": [TRIPLES, "nt"], "JSON-LD": ["application/ld+json", "jsonld"], "RDF/XML": ["application/rdf+xml", "rdf"] };
const LASTING = /\b(?:STREAM|WINDOW|REGISTER)\b/i;

const editing = new Editing(() => (byId("lasting").hidden = true), ask);
let answered = null; // the query whose answer is shown, and that answer

/** The answer in some form. */
async function fetched(text, accept) {
  const response = await fetch("/sparql", { method: "POST", body: text, headers: { "Content-Type": "application/sparql-query", Accept: accept } });
  const type = (response.headers.get("Content-Type") || "").split(";")[0];
  if (!response.ok) throw new Refused(await response.json());
  return { type, blob: await response.blob() };
}

async function ask() {
  const [button, text] = [byId("ask"), editing.text];
  if (!text.trim()) return notice("There is no query yet.");
  button.disabled = true;
  put(byId("told"), "…");
  const began = performance.now();
  try {
    // What has no solutions comes as triples.
    const { type, blob } = await fetched(text, `${JSON_TYPE}, ${TRIPLES};q=0.9`);
    const took = seconds((performance.now() - began) / 1000);
    const content = await blob.text();
    answered = { text, ...(type === TRIPLES ? ofTriples(content) : ofSolutions(JSON.parse(content), content)) };
    editing.problem(null);
    byId("lasting").hidden = true;
    put(byId("told"), `${answered.count} in ${took}`);
    show();
  } catch (error) {
    put(byId("told"), "");
    editing.problem(error);
    byId("lasting").hidden = !LASTING.test(text);
  } finally {
    button.disabled = false;
  }
}

const counted = (count, what) => `${number(count)} ${what}${count === 1 ? "" : "s"}`;

function ofSolutions(found, content) {
  if ("boolean" in found) return { formats: { JSON: SOLUTIONS.JSON, XML: SOLUTIONS.XML }, count: "an answer", boolean: found.boolean, json: content };
  const [columns, rows] = [found.head.vars, found.results.bindings];
  return { formats: SOLUTIONS, count: counted(rows.length, "row"), columns, rows, json: content };
}

function ofTriples(content) {
  const triples = content.split("\n").map(triple).filter(Boolean);
  const columns = ["subject", "predicate", "object"];
  return { formats: GRAPHS, count: counted(triples.length, "triple"), columns, rows: triples, triples, json: null };
}

function table({ columns, rows, boolean }) {
  if (boolean !== undefined) return make("p", { class: "boolean" }, boolean ? "yes" : "no");
  if (!rows.length) return make("p", { class: "quiet" }, "Nothing was found.");
  const head = make("thead", {}, make("tr", {}, ...columns.map((name) => make("th", { scope: "col" }, name))));
  const body = rows.slice(0, MOST).map((row) => make("tr", {}, ...columns.map((name) => make("td", {}, term(row[name])))));
  const more = rows.length > MOST ? [make("caption", {}, `the first ${number(MOST)} of ${number(rows.length)}`)] : [];
  return make("table", {}, ...more, head, make("tbody", {}, ...body));
}

async function json({ text, json: known }) {
  const content = known ?? (await (await fetched(text, "application/ld+json")).blob.text());
  return make("pre", { class: "code" }, JSON.stringify(JSON.parse(content), null, 2));
}

function graph({ triples }) {
  const place = make("div", { class: "graph" });
  queueMicrotask(() => new Graph(place, new Colours()).show(triples));
  return place;
}

function map({ columns, rows }) {
  const place = make("div", { class: "map" });
  const section = make("div", { hidden: "" }, place);
  queueMicrotask(() => new Places(section, place, columns, new Colours()).add(rows.map((row) => ({ row }))));
  return section;
}

/** The ways to see an answer, the table first. */
function show() {
  const ways = { Table: table, JSON: json };
  if (answered.triples?.length) ways.Graph = graph;
  if (answered.rows?.length && !answered.triples && placeOf(answered.columns)) ways.Map = map;
  const tabs = Object.entries(ways).map(([name, way]) => {
    const tab = make("button", { type: "button", role: "tab", "aria-selected": "false", "aria-controls": "shown" }, name);
    tab.addEventListener("click", () => turn(tab, way));
    return tab;
  });
  byId("answer").querySelector(".tabs").replaceChildren(...tabs);
  byId("format").replaceChildren(...Object.keys(answered.formats).map((name) => new Option(name)));
  byId("answer").hidden = false;
  return turn(tabs[0], table);
}

async function turn(tab, way) {
  for (const other of tab.parentElement.children) other.setAttribute("aria-selected", String(other === tab));
  try {
    byId("shown").replaceChildren(await way(answered));
  } catch (error) {
    notice(error.message);
  }
}

async function download() {
  const [type, end] = answered.formats[byId("format").value];
  try {
    // Asked again in that form: what windows hold may be another thing by now.
    const { blob } = await fetched(answered.text, type);
    const link = make("a", { href: URL.createObjectURL(blob), download: `answer.${end}` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  } catch (error) {
    notice(error.message);
  }
}

/** Examples over the static data, and over each stream. */
async function examples() {
  const { streams } = await get("/streams");
  const all = [
    ["all static data", "SELECT * WHERE { ?s ?p ?o } LIMIT 100"],
    ["how many of each predicate", "SELECT ?predicate (COUNT(*) AS ?triples)\nWHERE { ?s ?predicate ?o }\nGROUP BY ?predicate\nORDER BY DESC(?triples)"],
    ["the kinds of things", "SELECT ?kind (COUNT(*) AS ?things)\nWHERE { ?thing a ?kind }\nGROUP BY ?kind\nORDER BY DESC(?things)"],
    ["the named graphs", "SELECT ?graph (COUNT(*) AS ?triples)\nWHERE { GRAPH ?graph { ?s ?p ?o } }\nGROUP BY ?graph"],
    ["a graph of something", "CONSTRUCT { ?s ?p ?o }\nWHERE { ?s ?p ?o }\nLIMIT 25"],
  ].map(([title, text]) => ({ group: "static data", title, text }));
  const now = streams.map(({ name, iri }) => ({
    group: "what windows hold now", title: name, text: `SELECT ?predicate (COUNT(*) AS ?triples)\nWHERE { GRAPH <${iri}> { ?s ?predicate ?o } }\nGROUP BY ?predicate`,
  }));
  offer(byId("example"), [...now, ...all], ({ text }) => {
    editing.text = text;
    ask();
  });
}

byId("ask").addEventListener("click", ask);
byId("download").addEventListener("click", download);
takeAlong(byId("lasting").querySelector("a"), () => editing.text);
const brought = broughtAlong();
if (brought) editing.text = brought;
examples().catch((error) => notice(error.message));
