// Where a query is written: its text is coloured and checked while it is, mistakes are underlined at the place
// that the parser says; it can be tried before it is registered.
import { Answers } from "./answers.js";
import { byId, get, make, notice, put, Refused, send } from "./common.js";
import { highlight, place } from "./highlight.js";
import { showPlan } from "./plan.js";

const PAUSE = 500; // milliseconds without a key, after which the text is checked
const SECONDS = 5; // of a dry run
const NAMED = /\bREGISTER\s+(?:QUERY|STREAM)\s+([A-Za-z0-9][\w.~-]*)/i;

const editor = byId("editor");
const shown = editor.parentElement.querySelector("code");
const scrolled = shown.parentElement;
let mistake = null;
let checks = 0;
let timer = null;
let silent = false; // whether the server wants a token even for a check

function draw() {
  highlight(shown, editor.value, mistake);
  shown.append("\n"); // or an empty last line would have no height
  editor.style.height = "auto";
  editor.style.height = `${Math.max(editor.scrollHeight, 260)}px`;
  scrolled.scrollLeft = editor.scrollLeft;
}

function problem(error) {
  const told = byId("problem");
  mistake = null;
  told.hidden = !error;
  if (error) {
    const { line, column, title, detail } = error.problem || { title: error.message };
    if (line) mistake = place(editor.value, line, column);
    told.replaceChildren();
    if (line) {
      const there = make("button", { type: "button", class: "place" }, `line ${line}, column ${column}`);
      there.addEventListener("click", () => {
        const [from, to] = place(editor.value, line, column);
        editor.focus();
        editor.setSelectionRange(from, to);
      });
      told.append(there, " ");
    }
    told.append(line || !detail ? title : `${title}: ${detail}`);
  }
  draw();
}

const asked = (seconds) => {
  const parameters = new URLSearchParams({ dialect: byId("dialect").value, name: wanted() || "query", seconds });
  return `/check?${parameters}`;
};

/** The name of the query: what the text says, or else the field. */
function wanted() {
  const own = NAMED.exec(editor.value);
  if (own) byId("name").value = own[1];
  byId("name").readOnly = Boolean(own);
  return byId("name").value.trim();
}

async function check() {
  const turn = (checks += 1);
  if (!editor.value.trim() || silent) return put(byId("checked"), "");
  try {
    const found = await send("POST", asked(0), editor.value, true);
    if (turn !== checks) return;
    problem(null);
    put(byId("checked"), `${found.plan.language || "SPARQL"}, ${found.kind}: no mistake found`);
  } catch (error) {
    if (turn !== checks) return;
    put(byId("checked"), "");
    silent = error.problem?.status === 401;
    if (!silent && error instanceof Refused) problem(error);
  }
}

function changed() {
  clearTimeout(timer);
  checks += 1;
  mistake = null;
  if (silent) byId("problem").hidden = true;
  wanted();
  draw();
  timer = setTimeout(check, PAUSE);
}

async function attempt() {
  clearTimeout(timer);
  checks += 1;
  const [button, status, trial] = [byId("try"), byId("checked"), byId("trial")];
  button.disabled = true;
  put(status, `tried for up to ${SECONDS} s …`);
  try {
    const found = await send("POST", asked(SECONDS), editor.value);
    problem(found.error ? new Refused({ title: found.error }) : null);
    put(status, "");
    const plan = make("div", { class: "parts" });
    const table = make("table", {}, make("thead"), make("tbody"));
    new Answers(table, found.variables).add(found.answers);
    const none = "It is right, and nothing was answered while it was tried: its windows may be longer than that.";
    const streams = found.streams.map((iri) => make("code", {}, iri));
    trial.replaceChildren(
      make("h2", {}, "Dry run"),
      make("p", { class: "quiet" }, found.answers.length ? "What it answers first; nothing is registered yet." : none),
      make("div", { class: "wide tall" }, table),
      make("p", {}, "Reads ", ...streams.flatMap((code, index) => (index ? [", ", code] : [code]))),
      plan,
    );
    showPlan(plan, found.plan);
    trial.hidden = false;
  } catch (error) {
    put(status, "");
    problem(error);
  } finally {
    silent = false; // there may be a token now
    button.disabled = false;
  }
}

async function register() {
  clearTimeout(timer);
  const turn = (checks += 1);
  const name = wanted();
  // What is registered is the text at the click, whatever is written while the server answers.
  const [text, dialect] = [editor.value, byId("dialect").value];
  if (!name) {
    byId("name").focus();
    return notice("The query needs a name.");
  }
  try {
    const known = (await get("/queries")).queries.some((query) => query.name === name);
    if (known && !confirm(`There is a query ${name} already. Put this one in its place?`)) return;
    await send("PUT", `/${encodeURIComponent(name)}?dialect=${dialect}`, text);
    location.href = `/page/${encodeURIComponent(name)}`;
  } catch (error) {
    if (turn === checks) problem(error); // else its place is one of a text that is no longer there
  }
}

/** Examples of each language on a stream that is here, and the queries that are registered. */
async function examples() {
  const [known, { queries }, { streams }] = await Promise.all([get("/static/examples.json"), get("/queries"), get("/streams")]);
  const dialects = new Set([...byId("dialect").options].map((option) => option.value));
  const stream = streams[0]?.name || "stream";
  const texts = new Map();
  const groups = new Map();
  const add = (group, title, text) => {
    const key = String(texts.size);
    texts.set(key, text);
    if (!groups.has(group)) groups.set(group, make("optgroup", { label: group }));
    groups.get(group).append(new Option(title, key));
  };
  for (const { dialect, language, title, text } of known) {
    if (dialects.has(dialect)) add(language, title, text.join("\n").replaceAll("{stream}", stream));
  }
  queries.forEach((query) => add("registered here", query.name, query.text));
  byId("example").append(...groups.values());
  byId("example").addEventListener("change", (event) => {
    if (!texts.has(event.target.value)) return;
    editor.value = texts.get(event.target.value);
    changed();
  });
  const from = new URLSearchParams(location.search).get("from");
  const copied = queries.find((query) => query.name === from);
  if (copied && !editor.value) {
    editor.value = copied.text;
    byId("dialect").value = copied.dialect;
    byId("name").value = copied.name;
    changed();
  }
}

editor.addEventListener("input", changed);
editor.addEventListener("scroll", () => (scrolled.scrollLeft = editor.scrollLeft));
editor.addEventListener("keydown", (event) => {
  if (event.key === "Tab" && !event.shiftKey && !event.ctrlKey && !event.metaKey) {
    // Escape first, and Tab leaves the field as everywhere.
    if (editor.dataset.leave) return;
    event.preventDefault();
    editor.setRangeText("  ", editor.selectionStart, editor.selectionEnd, "end");
    changed();
  } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) attempt();
  editor.dataset.leave = event.key === "Escape" ? "1" : "";
});
byId("dialect").addEventListener("change", changed);
byId("name").addEventListener("input", changed);
byId("try").addEventListener("click", attempt);
byId("register").addEventListener("click", register);
addEventListener("resize", draw);
draw();
examples().catch((error) => notice(error.message));
