// What all pages need: elements, requests, numbers and times for people, terms, sparklines, and whether the
// server is well. Texts that come from data go into textContent and attributes, never into HTML.

export const byId = (id) => document.getElementById(id);

export function make(name, attributes = {}, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") made.className = value;
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...content);
  return made;
}

/** Put a text where it is not already: what does not change is not drawn again. */
export function put(element, text) {
  if (element && element.textContent !== text) element.textContent = text;
}

// --- requests ------------------------------------------------------------------------------------

export class Refused extends Error {
  constructor(problem) {
    super(problem.detail || problem.title);
    this.problem = problem;
  }
}

export async function get(path) {
  return read(await fetch(path, { headers: { Accept: "application/json" } }));
}

/** A request that changes something. Where the server wants a token, the user is asked for it, once. */
export async function send(method, path, body, quietly = false, type = null) {
  const attempt = () => {
    const token = sessionStorage.getItem("token");
    const headers = token ? { Authorization: `Bearer ${token}` } : {};
    if (type) headers["Content-Type"] = type;
    return fetch(path, { method, body, headers });
  };
  let response = await attempt();
  if (response.status === 401 && !quietly) {
    const token = prompt("Writing needs the token of this server:");
    if (token) {
      sessionStorage.setItem("token", token.trim());
      response = await attempt();
    }
  }
  return read(response);
}

async function read(response) {
  if (response.status === 204) return null;
  const found = await response.json();
  if (!response.ok) throw new Refused(found);
  return found;
}

export function notice(text) {
  const shown = byId("notice");
  shown.textContent = text;
  shown.hidden = false;
  clearTimeout(notice.timer);
  notice.timer = setTimeout(() => (shown.hidden = true), 8000);
}

/** Do something now and again, while somebody is looking. */
export function again(work, milliseconds) {
  let runs = false;
  const round = async () => {
    if (document.hidden || runs) return;
    runs = true;
    try {
      await work();
    } catch (error) {
      if (error instanceof Refused) notice(error.message);
    } finally {
      runs = false;
    }
  };
  round();
  setInterval(round, milliseconds);
  document.addEventListener("visibilitychange", round);
}

/** Another look at this page: the part of it with some id, as the server would show it now. */
export async function anew(id) {
  const response = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!response.ok) return null;
  const found = new DOMParser().parseFromString(await response.text(), "text/html").getElementById(id);
  // A list that somebody has opened stays open.
  if (byId(id).querySelector("table") && !byId(id).querySelector(".few")) found?.querySelector(".few")?.classList.remove("few");
  return found;
}

// --- numbers and times -----------------------------------------------------------------------------

const whole = new Intl.NumberFormat("en");
const broken = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

export function number(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 1000 || Number.isInteger(value) ? whole.format(Math.round(value)) : broken.format(value);
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) < 1) return `${Math.round(value * 1000)} ms`;
  if (Math.abs(value) < 120) return `${broken.format(value)} s`;
  if (Math.abs(value) < 7200) return `${broken.format(value / 60)} min`;
  return Math.abs(value) < 172800 ? `${broken.format(value / 3600)} h` : `${whole.format(Math.round(value / 86400))} d`;
}

/** Into how many shards the work of a query was last shared out, and by what. */
export function sharded(query) {
  const by = { time: " by time", variable: " by a variable" };
  return query.shards ? `${query.shards}${by[query.sharding] || ""}` : "–";
}

/** The time of day of a timestamp in whole seconds, with its date where that is not today. */
export function clock(text) {
  if (!text) return "–";
  const [date, time] = text.split("T");
  return date === new Date().toISOString().slice(0, 10) ? time.slice(0, 8) : `${date} ${time.slice(0, 8)}`;
}

/** Show a time in short, and all of it to who points at it. */
export function putTime(element, text) {
  put(element, clock(text));
  if (element) element.title = text || "";
}

const LATE = [5, 30]; // seconds behind the clock: amber, red
const DAY = 86400;

/** How a lag is to be seen. What is a day behind is no delay: its events are of another time. */
export function lateness(lag) {
  if (lag === null || lag === undefined) return "";
  if (lag > DAY) return "far";
  return lag < LATE[0] ? "good" : lag < LATE[1] ? "warn" : "bad";
}

export function putLag(element, lag, ended) {
  put(element, ended ? "ended" : seconds(lag));
  const seen = ended ? "" : lateness(lag);
  element.classList.toggle("warned", seen === "warn");
  element.classList.toggle("failed", seen === "bad");
}

/** Seconds since 1970. */
export const instant = (text) => Date.parse(text) / 1000;

// --- terms -----------------------------------------------------------------------------------------

export function short(iri) {
  const found = /[^/#:]+[/#]?$/.exec(iri);
  return found ? found[0] : iri;
}

const numeric = /#(integer|decimal|double|float|int|long|short|byte|nonNegativeInteger|positiveInteger)$/;

/** The number that a term of SPARQL's JSON is, or NaN. */
export function value(term) {
  return term && term.type === "literal" && numeric.test(term.datatype || "") ? Number(term.value) : NaN;
}

export function label(term) {
  if (!term) return "";
  if (term.type === "uri") return short(term.value);
  if (term.type === "bnode") return `_:${term.value}`;
  const number = value(term);
  return Number.isNaN(number) || Number.isInteger(number) ? term.value : String(Number(number.toPrecision(6)));
}

/** Only addresses of the web are links: a click on any other could do something. */
export function term(given) {
  if (!given) return "";
  if (given.type === "uri") {
    const name = make("span", { class: "iri" }, short(given.value));
    if (!/^https?:\/\/\S+$/.test(given.value)) return make("span", { title: given.value }, name);
    return make("a", { href: given.value, title: given.value, rel: "noreferrer" }, name);
  }
  if (given.type === "bnode") return make("span", { class: "blank" }, `_:${given.value}`);
  const kind = Number.isNaN(value(given)) ? "text" : "number";
  const title = given.datatype ? `"${given.value}"^^<${given.datatype}>` : given.value;
  const shown = make("span", { title }, make("span", { class: kind }, label(given)));
  if (given["xml:lang"]) shown.append(make("span", { class: "kind" }, `@${given["xml:lang"]}`));
  return shown;
}

const part = /^(?:<([^>]*)>|_:(\S+)|"((?:[^"\\]|\\.)*)"(?:\^\^<([^>]*)>|@([\w-]+))?)\s*/;
const escapes = { t: "\t", n: "\n", r: "\r", b: "\b", f: "\f" };
const plain = (text) =>
  text.replace(/\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))/g, (_, four, eight, other) =>
    other ? escapes[other] || other : String.fromCodePoint(parseInt(four || eight, 16)));

/** A line of N-Triples as three terms of SPARQL's JSON. */
export function triple(text) {
  const found = [];
  for (let rest = text; found.length < 3; ) {
    const match = part.exec(rest);
    if (!match) return null;
    const [all, iri, blank, lexical, datatype, language] = match;
    if (iri !== undefined) found.push({ type: "uri", value: plain(iri) });
    else if (blank !== undefined) found.push({ type: "bnode", value: blank });
    else found.push({ type: "literal", value: plain(lexical), datatype, "xml:lang": language });
    rest = rest.slice(all.length);
  }
  return { subject: found[0], predicate: found[1], object: found[2] };
}

// --- sparklines ------------------------------------------------------------------------------------

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const SAMPLES = 60;

/** A small line of the last rates, drawn to the right end: what is new comes in there. */
export function sparkline(place, rates) {
  let canvas = place.querySelector("canvas");
  if (!canvas) place.prepend((canvas = make("canvas", { class: "spark", role: "img" })));
  canvas.setAttribute("aria-label", `rates of the last two minutes, now ${number(lately(rates))} a second`);
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth || 120, canvas.clientHeight || 28];
  if (canvas.width !== width * ratio) [canvas.width, canvas.height] = [width * ratio, height * ratio];
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  if (rates.length < 2) return;
  // A start with much to catch up on would make a flat line of all that comes after: it is cut off.
  const usual = rates.filter((rate) => rate > 0).sort((a, b) => a - b);
  const most = Math.min(Math.max(...rates, 1e-9), 4 * (usual[Math.floor(usual.length / 2)] || 1));
  const step = width / (SAMPLES - 1);
  const x = (index) => width - (rates.length - 1 - index) * step;
  const y = (rate) => height - 2 - (Math.min(rate, most) / most) * (height - 5);
  context.beginPath();
  rates.forEach((rate, index) => context.lineTo(x(index), y(rate)));
  context.strokeStyle = colour("accent");
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.stroke();
  context.lineTo(x(rates.length - 1), height);
  context.lineTo(x(0), height);
  context.globalAlpha = 0.15;
  context.fillStyle = colour("accent");
  context.fill();
  context.globalAlpha = 1;
}

/** The mean of the last few rates. */
export function lately(rates) {
  const last = (rates || []).slice(-3);
  return last.length ? last.reduce((sum, rate) => sum + rate, 0) / last.length : 0;
}

/** Numbers with what they are, in a row; each may have a title, and how it is to be seen. */
export function numbers(place, found) {
  if (place.children.length !== found.length) {
    place.replaceChildren(...found.map(() => make("div", {}, make("strong"), make("span"))));
  }
  found.forEach(([what, value, title, seen], index) => {
    const [shown, name] = place.children[index].children;
    put(shown, value);
    put(name, what);
    if (title) place.children[index].title = title;
    shown.classList.toggle("warned", seen === "warn");
    shown.classList.toggle("failed", seen === "bad");
  });
}

const RED = 5; // so many seconds behind are not amber any more

// --- long lists ------------------------------------------------------------------------------------

// A phone shows the first of a list, until somebody wants all of it.
document.addEventListener("click", (event) => {
  if (event.target.matches?.("button.all")) event.target.previousElementSibling.classList.remove("few");
});

// --- health ----------------------------------------------------------------------------------------

again(async () => {
  const shown = byId("health");
  try {
    const found = await (await fetch("/health")).json();
    const late = found.status === "ok" ? found.behind : undefined;
    shown.dataset.state = late ? (late < RED ? "degraded" : "failing") : found.status;
    put(shown, late ? `${seconds(late)} behind` : { ok: "live" }[found.status] || found.status);
    shown.title = found.detail || "";
  } catch {
    shown.dataset.state = "failing";
    put(shown, "no answer");
  }
}, 5000);
