// The page of a query: its answers arrive as events and go into the table, the chart and the timeline; it can
// be started and stopped.
import { Answers } from "./answers.js";
import { Chart } from "./chart.js";
import { Colours } from "./colours.js";
import { again, byId, clock, get, lately, lateness, notice, number, numbers, put, seconds, send, sharded, triple } from "./common.js";
import { Graph } from "./graph.js";
import { highlight } from "./highlight.js";
import { Places } from "./map.js";
import { showPlan } from "./plan.js";
import { Timeline } from "./timeline.js";

const name = decodeURIComponent(location.pathname.split("/")[2]);
const path = `/${encodeURIComponent(name)}`;
const DRAW = 250; // milliseconds between two drawings, however many answers come

let running = null;
let paused = false;
let waiting = [];

const code = byId("text").querySelector("code");
highlight(code, code.textContent.trimEnd());

async function look() {
  const found = (await get("/queries")).queries.find((query) => query.name === name);
  if (!found) return;
  running = found.running;
  const state = found.error ? "failed" : running ? "running" : "stopped";
  byId("state").className = `state ${state}`;
  put(byId("state"), state);
  put(byId("run"), running ? "Stop" : "Start");
  byId("run").disabled = false;
  byId("error").hidden = !found.error;
  put(byId("error"), found.error || "");
  numbers(byId("numbers"), [
    ["rows a second", number(lately(found.rates))],
    ["lag", seconds(found.lag), "how far what it has evaluated is behind the clock", lateness(found.lag)],
    ["instants", number(found.instants)],
    ...(found.gives_up ? [["gives up", found.gives_up], ["skipped", number(found.skipped)]] : []),
    ["rows", number(found.rows)],
    ["last evaluation", found.milliseconds === null ? "–" : seconds(found.milliseconds / 1000)],
    ["shards", sharded(found)],
    ["watching", number(found.subscribers)],
  ]);
  return found;
}

/** The triples of the latest instant, as a graph. */
class Latest {
  constructor(colours) {
    this.colours = colours;
  }

  add(answers) {
    const triples = answers.filter((answer) => "triple" in answer);
    if (!triples.length) return;
    const { at } = triples.at(-1);
    byId("nodes").hidden = false;
    this.graph ??= new Graph(byId("graph"), this.colours);
    const before = at === this.at ? this.triples : [];
    this.at = at;
    this.triples = [...before, ...triples.filter((answer) => answer.at === at).map((answer) => triple(answer.triple)).filter(Boolean)];
    put(byId("moment"), clock(at));
    byId("moment").title = at || "";
    this.graph.show(this.triples);
  }
}

/** Answers that have come since the last drawing. */
function draw(parts) {
  if (paused || !waiting.length) return;
  const found = waiting;
  waiting = [];
  byId("none").hidden = true;
  parts.forEach((part) => part.add(found));
}

async function follow() {
  const { variables = [] } = (await look()) || {};
  const colours = new Colours();
  const chart = new Chart(byId("plot"), variables, colours);
  const timeline = new Timeline(byId("intervals"), byId("timeline"), colours, () => chart.key);
  const places = new Places(byId("places"), byId("map"), variables, colours);
  const parts = [new Answers(byId("answers"), variables), chart, timeline, places, new Latest(colours)];
  const { last, answers } = await get(`${path}/answers?most=500`);
  let count = answers.length;
  waiting = answers;
  draw(parts);
  let [events, seen] = [null, last];
  // A page that nobody looks at holds no connection: a browser has only a few for each server.
  const connect = () => {
    events?.close();
    events = null;
    if (document.hidden) return;
    events = new EventSource(`${path}/events?after=${seen}`);
    events.addEventListener("message", (event) => {
      seen = Number(event.lastEventId);
      waiting.push({ id: seen, ...JSON.parse(event.data) });
      if (waiting.length > 5000) waiting = waiting.slice(-3000);
      count += 1;
    });
    events.addEventListener("gap", () => notice("Some answers are no longer kept, and are left out here."));
  };
  connect();
  document.addEventListener("visibilitychange", connect);
  setInterval(() => {
    draw(parts);
    put(byId("count"), paused ? `${number(waiting.length)} more are waiting` : `${number(count)} seen`);
  }, DRAW);
}

byId("pause").addEventListener("click", () => {
  paused = !paused;
  put(byId("pause"), paused ? "Go on" : "Pause");
});

byId("run").addEventListener("click", async () => {
  byId("run").disabled = true;
  try {
    await send("POST", path, running ? "stop" : "start");
  } catch (error) {
    notice(error.message);
  }
  await look();
});

byId("delete").addEventListener("click", async () => {
  if (!confirm(`Delete the query ${name}, with the answers that are kept of it?`)) return;
  try {
    await send("DELETE", path);
    location.href = "/";
  } catch (error) {
    notice(error.message);
  }
});

follow().catch((error) => notice(error.message));
again(look, 1000);
get(`${path}/plan`).then(({ plan }) => showPlan(byId("plan"), plan), (error) => put(byId("plan"), error.message));
