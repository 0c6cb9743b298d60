// A timeline: answers with intervals come in, bars from their starts to their ends go out, in lanes so that
// none covers another; the latest end is at the right.
import { clock, colour, instant, label } from "./common.js";

const SVG = "http://www.w3.org/2000/svg";
const MOST = 60;
const LANE = 18;
const AXIS = 22;
const LEAST = 6; // pixels

export class Timeline {
  constructor(section, place) {
    this.section = section;
    this.place = place;
    this.answers = [];
    new ResizeObserver(() => this.draw()).observe(place);
    addEventListener("theme", () => this.draw());
  }

  add(answers) {
    this.answers.push(...answers.filter((answer) => answer.start && answer.end));
    this.answers = this.answers.slice(-MOST);
    this.draw();
  }

  draw() {
    if (!this.answers.length || (this.drawn === this.answers.at(-1).id && this.width === this.place.clientWidth)) return;
    this.section.hidden = false;
    this.width = this.place.clientWidth;
    const bars = this.answers.map((answer) => ({ answer, from: instant(answer.start), to: instant(answer.end), text: text(answer) }));
    const first = Math.min(...bars.map((bar) => bar.from));
    const last = Math.max(...bars.map((bar) => bar.to), first + 1);
    const x = (time) => 4 + ((time - first) / (last - first)) * (this.width - 8 - LEAST);
    const ends = [];
    const shown = [];
    for (const bar of bars.sort((a, b) => a.from - b.from)) {
      const [left, right] = [x(bar.from), Math.max(x(bar.to), x(bar.from) + LEAST)];
      let lane = ends.findIndex((end) => end + 2 <= left);
      if (lane < 0) lane = ends.length;
      ends[lane] = right;
      const line = svg("rect", { x: left, y: lane * LANE + 2, width: right - left, height: LANE - 4, rx: 3, class: "bar" });
      line.style.fill = colour(`line${hash(bar.text) % 8}`);
      line.append(svg("title", {}, `${bar.text}\n${clock(bar.answer.start)} – ${clock(bar.answer.end)}`));
      shown.push(line);
      if (right - left > 60) {
        const most = Math.floor((right - left - 8) / 6.5);
        const name = bar.text.length > most ? `${bar.text.slice(0, most - 1)}…` : bar.text;
        shown.push(svg("text", { x: left + 5, y: lane * LANE + 13, class: "name" }, name));
      }
    }
    const height = ends.length * LANE + AXIS;
    const count = Math.max(2, Math.floor(this.width / 130));
    for (let index = 0; index < count; index += 1) {
      const time = first + ((last - first) * index) / (count - 1);
      const at = x(time) + (index === count - 1 ? LEAST : 0);
      const anchor = index === 0 ? "start" : index === count - 1 ? "end" : "middle";
      shown.unshift(svg("line", { x1: at, x2: at, y1: 0, y2: height - AXIS, class: "grid" }));
      const named = clock(new Date(time * 1000).toISOString()).split(".")[0];
      shown.push(svg("text", { x: at, y: height - 6, class: "tick", "text-anchor": anchor }, named));
    }
    const drawing = svg("svg", { width: this.width, height, role: "img", "aria-label": "intervals of answers" });
    drawing.append(...shown);
    this.place.replaceChildren(drawing);
    this.drawn = this.answers.at(-1).id;
  }
}

function svg(name, attributes, ...content) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

function text(answer) {
  if (!answer.row) return answer.triple || "";
  return Object.values(answer.row).map(label).join(" · ");
}

function hash(text) {
  let sum = 0;
  for (const sign of text.split(" · ")[0]) sum = (sum * 31 + sign.codePointAt(0)) >>> 0;
  return sum;
}
