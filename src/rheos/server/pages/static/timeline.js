// A timeline: answers with intervals come in, bars from their starts to their ends go out, in lanes so that
// none covers another; the latest end is at the right. Answers that are nearly the same are one bar with their
// number, and a click shows them.
import { clock, instant, label, make, term } from "./common.js";
import { cut, drawing, svg } from "./svg.js";

const MOST = 60; // bars
const KEPT = 400; // answers
const LANE = 20;
const AXIS = 22;
const LEAST = 6; // pixels
const NEAR = 8; // pixels between the ends of bars that are nearly the same
const ENOUGH = 12; // signs of a name that can be cut
const SIGN = 6.6; // pixels of a sign of a name

export class Timeline {
  /** `key` is the variable whose values have colours, as in the chart. */
  constructor(section, place, colours, key) {
    [this.section, this.place, this.colours, this.key] = [section, place, colours, key];
    this.answers = [];
    this.list = make("ul", { class: "bundle" });
    this.legend = make("p", { class: "legend small" });
    this.list.hidden = true;
    this.opened = null;
    place.after(this.legend, this.list);
    new ResizeObserver(() => this.width !== place.clientWidth && this.draw()).observe(place);
    addEventListener("theme", () => this.draw());
  }

  add(answers) {
    const found = answers.filter((answer) => answer.start && answer.end);
    if (!found.length) return;
    this.answers = [...this.answers, ...found].slice(-KEPT);
    this.draw();
  }

  /** What an answer is about: its value of the chart's key, or else its first. */
  about(answer) {
    if (!answer.row) return answer.triple || "";
    const key = this.key();
    return label(key && answer.row[key] ? answer.row[key] : Object.values(answer.row)[0]);
  }

  draw() {
    if (!this.answers.length) return;
    this.section.hidden = false;
    this.width = this.place.clientWidth;
    const all = this.answers.map((answer) => ({ answer, from: instant(answer.start), to: instant(answer.end), about: this.about(answer) }));
    // The latest that there is room for: a span with as many bars as can be read.
    const [bars, first, last] = this.fitting(all);
    const x = this.scale(first, last);
    const ends = [];
    const shown = [];
    for (const bar of bars) {
      const [left, right] = [x(bar.from), Math.max(x(bar.to), x(bar.from) + LEAST)];
      let lane = ends.findIndex((end) => end + 2 <= left);
      if (lane < 0) lane = ends.length;
      ends[lane] = right;
      shown.push(this.bar(bar, left, right - left, lane * LANE));
    }
    const height = ends.length * LANE + AXIS;
    const words = `${all.length} intervals in ${bars.length} bars; the table of answers has the same`;
    this.place.replaceChildren(drawing(this.width, height, words, ...this.axis(first, last, x, height), ...shown));
    this.showLegend(bars);
  }

  scale(first, last) {
    return (time) => 4 + ((time - first) / (last - first)) * (this.width - 8 - LEAST);
  }

  fitting(all) {
    for (let count = all.length; ; count = Math.floor(count * 0.7)) {
      const some = all.slice(-count);
      const first = Math.min(...some.map((bar) => bar.from));
      const last = Math.max(...some.map((bar) => bar.to), first + 1);
      const bars = packed(some, this.scale(first, last));
      if (bars.length <= MOST || count <= 1) return [bars, first, last];
    }
  }

  bar(bar, left, width, top) {
    const most = Math.floor((width - 10) / SIGN);
    const text = bar.answers.length > 1 ? `${bar.answers.length} × ${bar.about}` : bar.about;
    const rect = svg("rect", { x: left, y: top + 2, width, height: LANE - 4, rx: 3, class: "bar" });
    rect.style.fill = this.colours.of(bar.about);
    const title = bar.answers.length > 1 ? `${text}, a click shows them` : words(bar.answers[0]);
    rect.append(svg("title", {}, `${title}\n${time(bar.answers[0].start)} – ${time(bar.answers.at(-1).end)}`));
    rect.addEventListener("click", () => this.open(bar));
    // What would be cut short is in the title and in the legend.
    const said = text.length <= most || most > ENOUGH ? cut(text, most) : bar.answers.length > 1 && most > 2 ? `${bar.answers.length}×` : "";
    const name = said ? [svg("text", { x: left + 5, y: top + 14, class: "name" }, said)] : [];
    return svg("g", {}, rect, ...name);
  }

  axis(first, last, x, height) {
    const count = Math.max(2, Math.floor(this.width / 130));
    return Array.from({ length: count }, (_, index) => {
      const at = first + ((last - first) * index) / (count - 1);
      const place = x(at) + (index === count - 1 ? LEAST : 0);
      const anchor = index === 0 ? "start" : index === count - 1 ? "end" : "middle";
      const named = clock(new Date(at * 1000).toISOString());
      return svg("g", {}, svg("line", { x1: place, x2: place, y1: 0, y2: height - AXIS, class: "grid" }),
        svg("text", { x: place, y: height - 6, class: "tick", "text-anchor": anchor }, named));
    });
  }

  showLegend(bars) {
    const names = [...new Set(bars.map((bar) => bar.about))].sort();
    const entry = (name) => {
      const sample = make("span", { class: "sample" });
      sample.style.background = this.colours.of(name);
      return make("span", { title: name }, sample, ` ${cut(name, 40)}`);
    };
    this.legend.replaceChildren(...names.map(entry));
  }

  /** Show the answers of a bar below, or hide them again. */
  open(bar) {
    const again = this.opened === bar.answers[0] && !this.list.hidden;
    this.opened = bar.answers[0];
    this.list.hidden = again;
    const terms = (answer) => Object.values(answer.row || {}).flatMap((found) => [" · ", term(found)]).slice(1);
    this.list.replaceChildren(
      ...bar.answers.map((answer) => {
        const span = make("span", { class: "quiet", title: `${answer.start} – ${answer.end}` }, `${clock(answer.start)} – ${clock(answer.end)}: `);
        return make("li", {}, span, ...(answer.row ? terms(answer) : [answer.triple]));
      }),
    );
  }
}

/** Bars of answers that are about the same, and whose starts and ends are nearly the same. */
function packed(all, x) {
  const bars = [];
  for (const { answer, from, to, about } of [...all].sort((a, b) => a.from - b.from)) {
    const near = bars.find((bar) => bar.about === about && Math.abs(x(bar.from) - x(from)) < NEAR && Math.abs(x(bar.to) - x(to)) < NEAR);
    if (near) near.answers.push(answer);
    else bars.push({ answers: [answer], from, to, about });
  }
  return bars;
}

const time = (text) => text.split("T")[1].replace("Z", "");
const words = (answer) => (answer.row ? Object.values(answer.row).map(label).join(" · ") : answer.triple || "");
