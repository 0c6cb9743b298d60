// A map: answers with a latitude and a longitude come in, points on a grid of degrees go out. There are no
// pictures of the earth: nothing is loaded from elsewhere.
import { label, value } from "./common.js";
import { cut, drawing, svg } from "./svg.js";

const LATITUDE = /^_?(lat|latitude)$/i;
const LONGITUDE = /^_?(lon|long|lng|longitude)$/i;
const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 45]; // degrees
const METRES = 111320; // of a degree of latitude
const SCALES = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000, 500000, 1e6, 2e6, 5e6];
const [LEFT, RIGHT, TOP, BOTTOM] = [58, 90, 14, 34];
const [SMALL, LARGE] = [5, 16]; // pixels of a point

/** Whether a variable has a part of a place. */
export const isPlace = (name) => LATITUDE.test(name) || LONGITUDE.test(name);

/** The variables of a place among those of a query, if it has them. */
export function placeOf(variables) {
  const latitude = variables.find((name) => LATITUDE.test(name));
  const longitude = variables.find((name) => LONGITUDE.test(name));
  return latitude && longitude ? { latitude, longitude } : null;
}

export class Places {
  constructor(section, place, variables, colours) {
    [this.section, this.place, this.colours] = [section, place, colours];
    this.where = placeOf(variables);
    this.others = variables.filter((name) => !isPlace(name));
    this.points = new Map(); // the latest at each place
    if (!this.where) return;
    new ResizeObserver(() => this.width !== place.clientWidth && this.draw()).observe(place);
    addEventListener("theme", () => this.draw());
  }

  add(answers) {
    if (!this.where) return;
    for (const { row } of answers) {
      const [north, east] = [value(row?.[this.where.latitude]), value(row?.[this.where.longitude])];
      if (Number.isNaN(north) || Number.isNaN(east) || Math.abs(north) > 90 || Math.abs(east) > 180) continue;
      const rest = this.others.map((name) => row[name]).filter(Boolean);
      const name = rest.find((found) => Number.isNaN(value(found)));
      const size = rest.map(value).find((found) => !Number.isNaN(found));
      const text = this.others.map((variable) => `?${variable} ${label(row[variable])}`).join("\n");
      this.points.set(`${north} ${east} ${label(name)}`, { north, east, name: label(name), size, text });
    }
    this.draw();
  }

  draw() {
    const points = [...this.points.values()];
    if (!points.length) return;
    this.section.hidden = false;
    this.width = this.place.clientWidth;
    const height = Math.max(240, Math.min(420, Math.round(this.width * 0.55)));
    const view = fit(points, this.width, height);
    const sizes = points.map((point) => point.size).filter((size) => size !== undefined && size > 0);
    const most = Math.max(...sizes, 0);
    const radius = (size) => (most && size > 0 ? SMALL + (LARGE - SMALL) * Math.sqrt(size / most) : SMALL);
    const shown = points.sort((a, b) => radius(b.size) - radius(a.size)).map((point) => this.point(point, view, radius(point.size)));
    const words = `a map of ${points.length} places: ${points.map((point) => point.name).sort().join(", ")}`;
    this.place.replaceChildren(drawing(this.width, height, words, ...grid(view, this.width, height), ...shown, scale(view, height)));
  }

  point({ north, east, name, size, text }, view, radius) {
    const [x, y] = [view.x(east), view.y(north)];
    const dot = svg("circle", { cx: x, cy: y, r: radius, class: "place" }, svg("title", {}, `${text}\n${degrees(north, "N", "S")} ${degrees(east, "E", "W")}`));
    dot.style.fill = this.colours.of(name);
    const said = size === undefined ? name : `${name} ${label({ type: "literal", value: String(size), datatype: "#double" })}`;
    return svg("g", {}, dot, svg("text", { x: x + radius + 4, y: y + 4, class: "label" }, cut(said, 16)));
  }
}

/** Where the places are on the screen: a degree of longitude is shorter than one of latitude. */
function fit(points, width, height) {
  const [norths, easts] = [points.map((point) => point.north), points.map((point) => point.east)];
  const [south, north, west, east] = [Math.min(...norths), Math.max(...norths), Math.min(...easts), Math.max(...easts)];
  const narrow = Math.max(0.05, Math.cos((((north + south) / 2) * Math.PI) / 180));
  const [wide, tall] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
  const each = Math.min(wide / Math.max((east - west) * narrow, 0.01), tall / Math.max(north - south, 0.01)) * 0.86;
  const [midX, midY] = [LEFT + wide / 2, TOP + tall / 2];
  return {
    each, narrow,
    x: (at) => midX + (at - (east + west) / 2) * each * narrow,
    y: (at) => midY - (at - (north + south) / 2) * each,
    east: (x) => (x - midX) / (each * narrow) + (east + west) / 2,
    north: (y) => (midY - y) / each + (north + south) / 2,
  };
}

function lines(low, high, pixels) {
  const step = STEPS.find((known) => known * pixels >= 70) || STEPS.at(-1);
  const count = Math.floor(high / step) - Math.ceil(low / step) + 1;
  return Array.from({ length: Math.max(0, Math.min(count, 40)) }, (_, index) => (Math.ceil(low / step) + index) * step);
}

function grid(view, width, height) {
  const found = [];
  for (const at of lines(view.east(LEFT), view.east(width - 8), view.each * view.narrow)) {
    const x = view.x(at);
    found.push(svg("line", { x1: x, x2: x, y1: TOP, y2: height - BOTTOM, class: "grid" }));
    found.push(svg("text", { x, y: height - BOTTOM + 14, class: "tick", "text-anchor": "middle" }, degrees(at, "E", "W")));
  }
  for (const at of lines(view.north(height - BOTTOM), view.north(TOP), view.each)) {
    const y = view.y(at);
    found.push(svg("line", { x1: LEFT, x2: width - 8, y1: y, y2: y, class: "grid" }));
    found.push(svg("text", { x: LEFT - 6, y: y + 4, class: "tick", "text-anchor": "end" }, degrees(at, "N", "S")));
  }
  return found;
}

function scale(view, height) {
  const metre = view.each / METRES;
  const length = [...SCALES].reverse().find((known) => known * metre <= 120) || SCALES[0];
  const [y, end] = [height - 6, LEFT + length * metre];
  const text = length < 1000 ? `${length} m` : `${length / 1000} km`;
  return svg("g", { class: "scale" }, svg("path", { d: `M${LEFT} ${y - 5}V${y}H${end}V${y - 5}` }), svg("text", { x: end + 6, y: y + 2, class: "tick" }, text));
}

function degrees(at, plus, minus) {
  return `${Number(Math.abs(at).toFixed(4))}° ${at < 0 ? minus : plus}`;
}
