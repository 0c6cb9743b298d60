// A live chart: answers come in, lines over time go out. It chooses by itself what to show (a column of
// numbers, one line for each value of another column) until somebody chooses otherwise.
import { axes, named, range, timeOf } from "./axes.js";
import { byId, instant, label, value } from "./common.js";
import { columns, usual } from "./gaps.js";
import { isPlace } from "./map.js";

const MOST = 3000; // answers that are drawn
const LINES = 8;
const TIMES = 600;
const ROWS = "\u0000rows";
const NONE = "\u0000none";
const SPANS = [1, 2, 5, 10, 30, 60, 300, 600, 3600, 86400]; // seconds

export class Chart {
  constructor(place, variables, colours) {
    this.place = place;
    this.colours = colours;
    this.variables = variables;
    this.answers = [];
    this.plot = null;
    this.shape = "";
    this.chosen = {};
    for (const id of ["value", "key"]) {
      byId(id).addEventListener("change", (event) => {
        this.chosen[id] = event.target.value;
        this.draw();
      });
    }
    new ResizeObserver(() => this.plot && this.plot.setSize(this.size())).observe(place);
    addEventListener("theme", () => this.plot && this.plot.redraw());
  }

  add(answers) {
    this.answers.push(...answers.filter((answer) => answer.at));
    if (this.answers.length > MOST) this.answers = this.answers.slice(-MOST);
    this.draw();
  }

  size() {
    return { width: this.place.clientWidth, height: 260 };
  }

  /** Columns of numbers, and columns with few other values, by what was seen lately. */
  kinds() {
    const rows = this.answers.slice(-400).map((answer) => answer.row || {});
    const numbers = [];
    const keys = [];
    for (const name of this.variables.filter((variable) => !isPlace(variable))) {
      const terms = rows.map((row) => row[name]).filter(Boolean);
      if (!terms.length) continue;
      const different = new Set(terms.map(label)).size;
      (terms.every((term) => !Number.isNaN(value(term))) ? numbers : keys).push([name, different]);
    }
    return { numbers, keys };
  }

  choose() {
    const { numbers, keys } = this.kinds();
    const numeric = numbers.map(([name]) => name);
    // What varies most is what is measured; a limit or a year beside it varies less.
    const liveliest = numbers.reduce((best, found) => (best && best[1] > found[1] ? best : found), null);
    this.first = this.valid(this.first, numeric) ?? (this.answers.length > 20 ? liveliest?.[0] : undefined);
    const value = this.valid(this.chosen.value, [...numeric, ROWS]) ?? this.first ?? liveliest?.[0] ?? ROWS;
    const few = keys.filter(([, count]) => count <= 2 * LINES).sort((a, b) => b[1] - a[1]);
    const names = [...keys.map(([name]) => name), ...numeric.filter((name) => name !== value)];
    const key = this.valid(this.chosen.key, [...names, NONE]) ?? (few.length ? few[0][0] : NONE);
    options(byId("value"), [...numeric.map((name) => [name, `?${name}`]), [ROWS, "number of answers"]], value);
    this.key = key === NONE ? null : key;
    options(byId("key"), [...names.map((name) => [name, `?${name}`]), [NONE, "– together –"]], key);
    return { value, key };
  }

  valid(given, known) {
    return known.includes(given) ? given : undefined;
  }

  /** The names of lines, and their values by time. Several values at one time are their mean; answers are
   * counted over spans that are long enough for their number to say something. */
  lines({ value: column, key }) {
    const lines = new Map();
    const times = new Set();
    const counted = column === ROWS;
    const span = counted ? spanOf(this.answers.map((answer) => instant(answer.at))) : 0;
    for (const answer of this.answers) {
      const row = answer.row || {};
      const number = counted ? 1 : value(row[column]);
      if (Number.isNaN(number)) continue;
      const name = key === NONE ? (counted ? `answers in ${span} s` : `?${column}`) : label(row[key]);
      const at = counted ? Math.floor(instant(answer.at) / span) * span : instant(answer.at);
      if (!lines.has(name)) lines.set(name, { seen: 0, at: new Map() });
      const line = lines.get(name);
      const before = line.at.get(at) || [0, 0];
      line.at.set(at, [before[0] + number, before[1] + 1]);
      line.seen += 1;
      times.add(at);
    }
    const all = (counted ? every(times, span) : [...times].sort((a, b) => a - b)).slice(-TIMES);
    const names = [...lines.keys()].sort((a, b) => lines.get(b).seen - lines.get(a).seen).slice(0, LINES).sort(naturally);
    const shown = names.map((name) => {
      const line = lines.get(name).at;
      const known = counted ? all : all.filter((at) => line.has(at));
      return new Map(known.map((at) => [at, counted ? line.get(at)?.[0] || 0 : line.get(at)[0] / line.get(at)[1]]));
    });
    return { names, shown };
  }

  draw() {
    const choice = this.choose();
    const { names, shown } = this.lines(choice);
    if (!names.length) return;
    const { data, alone } = columns(shown);
    this.alone = alone;
    const shape = JSON.stringify([choice, names]);
    if (this.plot && shape === this.shape) this.plot.setData(data);
    else this.begin(names, data);
    this.shape = shape;
    // Unless somebody points at another time, the legend has the latest values.
    this.sayLatest();
  }

  sayLatest() {
    const latest = this.plot.data.map((column) => column.findLastIndex((value) => value != null));
    if (this.plot.cursor.idx == null) this.plot.setLegend({ idxs: latest }, false);
  }

  begin(names, data) {
    if (this.plot) this.plot.destroy();
    const colours = this.colours;
    const series = names.map((name, index) => ({
      label: name.length > 28 ? `${name.slice(0, 27)}…` : name,
      stroke: () => colours.of(name),
      dash: colours.dash(name),
      width: 2,
      points: { size: 6, fill: () => colours.of(name), filter: (_, __, show) => (show ? null : this.alone[index]) },
      value: (_, shown) => (shown == null ? "" : String(Number(shown.toPrecision(6)))),
    }));
    const options = {
      ...this.size(),
      cursor: { focus: { prox: 24 } },
      focus: { alpha: 0.35 },
      scales: { x: { range } },
      axes: axes(),
      hooks: { ready: [() => queueMicrotask(() => this.sayLatest())] },
      series: [{ label: "time", value: (_, at) => (at === null ? "" : timeOf(at)) }, ...series],
    };
    this.plot = new uPlot(options, data, this.place);
    named(this.place, `a chart of ${names.join(", ")}; the table of answers has the same numbers`);
  }
}

/** gate2 before gate10. */
const naturally = (a, b) => a.localeCompare(b, "en", { numeric: true });

/** Seconds over which answers are counted: no shorter than they are usually apart, and about sixty in all. */
function spanOf(times) {
  const all = [...new Set(times)].sort((a, b) => a - b);
  const least = Math.max((all.at(-1) - all[0]) / 60 || 0, usual(all));
  return SPANS.find((span) => span >= least - 0.01) || SPANS.at(-1);
}

/** All spans from the first to the last, those without an answer too. */
function every(times, span) {
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const count = times.size ? Math.min(Math.round((last - first) / span) + 1, 600) : 0;
  return Array.from({ length: count }, (_, index) => last - (count - 1 - index) * span);
}

function options(select, known, chosen) {
  const now = JSON.stringify(known);
  if (select.dataset.known !== now) {
    select.dataset.known = now;
    select.replaceChildren(...known.map(([name, text]) => new Option(text, name)));
  }
  if (select.value !== chosen) select.value = chosen;
}
