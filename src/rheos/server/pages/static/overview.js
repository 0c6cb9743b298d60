// The overview: the lists of streams and queries come in every second, their numbers go into the page.
import { again, anew, byId, get, lately, number, put, putLag, putTime, seconds, sparkline } from "./common.js";

const cell = (row, field) => row.querySelector(`[data-field="${field}"]`);

function rates(row, found) {
  const place = cell(row, "rates");
  sparkline(place, found);
  let text = place.querySelector("span");
  if (!text) place.append((text = document.createElement("span")));
  put(text, number(lately(found)));
}

function stream(row, found) {
  rates(row, found.rates);
  putTime(cell(row, "time"), found.time);
  putLag(cell(row, "lag"), found.lag, found.ended);
  put(cell(row, "held"), number(found.held));
  put(cell(row, "elements"), number(found.elements));
  const dead = cell(row, "dead");
  put(dead, found.late === undefined ? "–" : `${number(found.late)} · ${number(found.bad)}`);
  dead.classList.toggle("warned", (found.late || 0) + (found.bad || 0) > 0);
}

function query(row, found) {
  rates(row, found.rates);
  const state = found.error ? "failed" : found.running ? "running" : "stopped";
  const shown = cell(row, "state");
  put(shown, state);
  shown.className = `state ${state}`;
  shown.title = found.error || "";
  put(cell(row, "instants"), number(found.instants));
  put(cell(row, "rows"), number(found.rows));
  put(cell(row, "milliseconds"), found.milliseconds === null ? "–" : seconds(found.milliseconds / 1000));
  put(cell(row, "subscribers"), number(found.subscribers));
}

/** Fill the rows of a list; whether it has other rows than the page. */
function fill(id, list, show) {
  const rows = new Map([...document.querySelectorAll(`#${id} tr[data-name]`)].map((row) => [row.dataset.name, row]));
  list.forEach((found) => rows.has(found.name) && show(rows.get(found.name), found));
  return list.length !== rows.size || list.some((found) => !rows.has(found.name));
}

again(async () => {
  const [{ streams }, { queries }] = await Promise.all([get("/streams"), get("/queries")]);
  const others = [["streams", fill("streams", streams, stream)], ["queries", fill("queries", queries, query)]];
  for (const [id, changed] of others) {
    const now = changed && (await anew(id));
    if (now) byId(id).replaceWith(document.adoptNode(now));
  }
  const own = streams.filter((found) => found.kind !== "derived");
  const latest = own.map((found) => found.time || "").sort().at(-1);
  const lags = own.map((found) => found.lag).filter((lag) => lag !== null);
  const tiles = byId("tiles");
  put(cell(tiles, "rate"), number(own.reduce((sum, found) => sum + lately(found.rates), 0)));
  putTime(cell(tiles, "time"), latest);
  putLag(cell(tiles, "lag"), lags.length ? Math.max(...lags) : null);
  put(cell(tiles, "running"), `${queries.filter((found) => found.running).length} of ${queries.length}`);
}, 1000);
