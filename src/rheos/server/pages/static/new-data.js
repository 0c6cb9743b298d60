// Where static data is added: a text or a file goes to a graph, and the graphs are listed with their sizes.
import { byId, get, make, notice, number, put, send } from "./common.js";
import { Upload } from "./files.js";

const COUNTS = "SELECT ?graph (COUNT(*) AS ?triples) WHERE { { ?s ?p ?o } UNION { GRAPH ?graph { ?s ?p ?o } } } GROUP BY ?graph ORDER BY ?graph";

const upload = new Upload(byId("file"), byId("text"), byId("format"), { json: "application/ld+json" });

const store = () => {
  const graph = byId("graph").value.trim();
  return `/rdf-graph-store?${graph ? new URLSearchParams({ graph }) : "default"}`;
};

function row({ graph, triples }) {
  const name = graph?.value || "";
  const choose = make("button", { type: "button", class: "link", title: name }, name || "the default graph");
  choose.addEventListener("click", () => (byId("graph").value = name));
  const [see, drop] = [make("button", { type: "button", class: "link" }, "Ask"), make("button", { type: "button", class: "link danger" }, "Drop")];
  see.addEventListener("click", () => {
    sessionStorage.setItem("query", `SELECT * WHERE { ${name ? `GRAPH <${name}> { ?s ?p ?o }` : "?s ?p ?o"} } LIMIT 100`);
    location.href = "/sparql";
  });
  drop.addEventListener("click", () => remove(name));
  return make("tr", {}, make("td", {}, choose), make("td", {}, number(Number(triples.value)), " ", see, " ", drop));
}

async function list() {
  const found = (await get(`/sparql?${new URLSearchParams({ query: COUNTS })}`)).results.bindings;
  byId("graphs").tBodies[0].replaceChildren(...found.map(row));
  byId("known").replaceChildren(...found.flatMap(({ graph }) => (graph ? [make("option", { value: graph.value })] : [])));
}

async function remove(name) {
  if (!confirm(`Drop ${name || "all triples of the default graph"}?`)) return;
  try {
    await send("DELETE", `/rdf-graph-store?${name ? new URLSearchParams({ graph: name }) : "default"}`);
    await list();
  } catch (error) {
    notice(error.message);
  }
}

async function add(method) {
  const told = byId("problem");
  told.hidden = true;
  put(byId("told"), "");
  if (!upload.text.trim()) return notice("There is nothing to add: paste some RDF, or choose a file.");
  if (method === "PUT" && !confirm("Replace all triples of this graph?")) return;
  try {
    const { changed } = await send(method, store(), upload.text, false, byId("format").value);
    put(byId("told"), `${number(changed)} triple${changed === 1 ? " has" : "s have"} changed`);
    await list();
  } catch (error) {
    told.hidden = false;
    put(told, error.message);
  }
}

byId("add").addEventListener("click", () => add("POST"));
byId("replace").addEventListener("click", () => add("PUT"));
list().catch((error) => notice(error.message));
