// Where a stream is made: what a mapping makes of some records is shown before anything is made.
import { byId, make, notice, put, send } from "./common.js";
import { Upload } from "./files.js";

const JSON_TYPE = "application/json";
// The media types of records; what is no record is called by its own.
const RECORDS = { json: JSON_TYPE, ndjson: "application/x-ndjson", csv: "text/csv", tsv: "text/tab-separated-values" };

const upload = new Upload(byId("file"), byId("records"), byId("format"), {
  ttl: "application/trig", nt: "application/n-quads", trig: "application/trig",
});

function problem(error) {
  const told = byId("problem");
  told.hidden = !error;
  if (!error) return;
  const { line, column, title, detail } = error.problem || { title: error.message };
  const where = line ? `line ${line}, column ${column}: ` : "";
  put(told, where + (line || !detail ? title : `${title}: ${detail}`));
}

/** What the fields say, without those that are empty. */
function given(...names) {
  const values = names.map((name) => [name, byId(name).value.trim()]);
  return Object.fromEntries(values.filter(([, value]) => value));
}

function show(found) {
  byId("made").hidden = false;
  const more = found.count > found.elements.length ? `, of which the first ${found.elements.length} are shown` : "";
  put(byId("count"), `${found.count.toLocaleString("en")} element${found.count === 1 ? "" : "s"}${more}`);
  put(byId("elements"), found.elements.join("\n"));
  const bad = byId("bad");
  bad.hidden = !found.bad.length;
  bad.replaceChildren(
    ...found.bad.map((item) => make("li", {}, `${item.line ? `record ${item.line}: ` : ""}${item.reason}: ${item.text}`)),
  );
}

async function preview() {
  const button = byId("preview");
  button.disabled = true;
  try {
    if (!(byId("format").value in RECORDS)) return notice("This is RDF already: it needs no mapping.");
    const asked = { mapping: "", records: upload.text, ...given("mapping", "time", "format") };
    show(await send("POST", "/preview", JSON.stringify(asked), false, JSON_TYPE));
    problem(null);
  } catch (error) {
    byId("made").hidden = true;
    problem(error);
  } finally {
    button.disabled = false;
  }
}

async function create() {
  const name = byId("name").value.trim();
  if (!name) {
    byId("name").focus();
    return notice("The stream needs a name.");
  }
  const path = `/${encodeURIComponent(name)}`;
  try {
    await send("PUT", path, JSON.stringify(given("mapping", "time", "lateness")), false, JSON_TYPE);
    const format = byId("format").value;
    if (byId("push").checked && upload.text.trim()) await send("POST", path, upload.text, false, RECORDS[format] || format);
    location.href = `/page${path}`;
  } catch (error) {
    problem(error);
  }
}

byId("preview").addEventListener("click", preview);
byId("make").addEventListener("click", create);
