// Where a query is written that is to run on: it is checked while it is written, and it can be tried before it is
// registered.
import { Answers } from "./answers.js";
import { byId, get, make, notice, put, Refused, send } from "./common.js";
import { broughtAlong, Editing, offer, takeAlong } from "./editing.js";
import { showPlan } from "./plan.js";

const PAUSE = 500; // milliseconds without a key, after which the text is checked
const SECONDS = 5; // of a dry run
const NAMED = /\bREGISTER\s+(?:QUERY|STREAM)\s+([A-Za-z0-9][\w.~-]*)/i;

const NO_STREAM = /^a continuous query reads a stream/;

const editing = new Editing(changed, attempt);
let checks = 0;
let timer = null;
let silent = false; // whether the server wants a token even for a check

/** Say what is wrong. A query that reads no stream may be meant to be asked once, which is another page. */
function problem(error) {
  editing.problem(error);
  byId("once").hidden = !NO_STREAM.test(error?.problem?.title || "");
}

const asked = (seconds) => {
  const parameters = new URLSearchParams({ dialect: byId("dialect").value, name: wanted() || "query", seconds });
  return `/check?${parameters}`;
};

/** The name of the query: what the text says, or else the field. */
function wanted() {
  const own = NAMED.exec(editing.text);
  if (own) byId("name").value = own[1];
  byId("name").readOnly = Boolean(own);
  return byId("name").value.trim();
}

async function check() {
  const turn = (checks += 1);
  if (!editing.text.trim() || silent) return put(byId("checked"), "");
  try {
    const found = await send("POST", asked(0), editing.text, true);
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
  if (silent) byId("problem").hidden = true;
  wanted();
  timer = setTimeout(check, PAUSE);
}

async function attempt() {
  clearTimeout(timer);
  checks += 1;
  const [button, status, trial] = [byId("try"), byId("checked"), byId("trial")];
  button.disabled = true;
  put(status, `tried for up to ${SECONDS} s …`);
  try {
    const found = await send("POST", asked(SECONDS), editing.text);
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
      make("div", { class: "wide tall", tabindex: "0", role: "region", "aria-label": "Answers" }, table),
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
  const [text, dialect] = [editing.text, byId("dialect").value];
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
  const own = known.filter(({ dialect }) => dialects.has(dialect)).map(({ language, title, text }) => ({
    group: language, title, text: text.join("\n").replaceAll("{stream}", stream),
  }));
  const registered = queries.map(({ name, text }) => ({ group: "registered here", title: name, text }));
  offer(byId("example"), [...own, ...registered], ({ text }) => (editing.text = text));
  const from = new URLSearchParams(location.search).get("from");
  const copied = queries.find((query) => query.name === from);
  const brought = broughtAlong();
  if (copied && !editing.text) {
    byId("dialect").value = copied.dialect;
    byId("name").value = copied.name;
    editing.text = copied.text;
  } else if (brought && !editing.text) editing.text = brought;
}

byId("dialect").addEventListener("change", changed);
byId("name").addEventListener("input", changed);
byId("try").addEventListener("click", attempt);
byId("register").addEventListener("click", register);
takeAlong(byId("once").querySelector("a"), () => editing.text);
examples().catch((error) => notice(error.message));
