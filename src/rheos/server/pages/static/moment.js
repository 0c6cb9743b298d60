// The page of a moment: its triples, which are in the table, as a graph.
import { Colours } from "./colours.js";
import { byId } from "./common.js";
import { Graph } from "./graph.js";

/** The term of a cell: all of it is in the title of what is shown. */
function term(cell) {
  const shown = cell.querySelector("[title]");
  const text = cell.textContent.trim();
  if (!shown) return { type: "bnode", value: text.replace(/^_:/, "") };
  if (cell.querySelector(".iri")) return { type: "uri", value: shown.title.replace(/^<|>$/g, "") };
  return { type: "literal", value: cell.querySelector(".text, .number").textContent };
}

const triples = [...byId("triples").tBodies[0].rows].map((row) => {
  const [subject, predicate, object] = [...row.cells].map(term);
  return { subject, predicate, object };
});
new Graph(byId("graph"), new Colours()).show(triples);
