// Where a stream is made: what a mapping makes of some records is shown before anything is made.
import { byId, make, notice, put, send } from "./common.js";

const JSON_TYPE = "application/json";

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
    const asked = { mapping: "", records: byId("records").value, ...given("mapping", "time", "format") };
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
    location.href = `/page${path}`;
  } catch (error) {
    problem(error);
  }
}

byId("preview").addEventListener("click", preview);
byId("make").addEventListener("click", create);
