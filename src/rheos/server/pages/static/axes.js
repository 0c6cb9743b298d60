// The axes of charts: time in UTC, as everywhere on the pages, and values.
import { colour } from "./common.js";

const LEAST = 10; // seconds that a chart shows at least
const MARGIN = 0.015; // of its width, so that the first and the last point are whole

/** A time of day: whole seconds, and parts of one where the chart is that fine. */
export const timeOf = (at, step = 1) => new Date(at * 1000).toISOString().slice(11, step < 1 ? 23 : 19);

/** The times that a chart shows. One with a single moment has it in the middle. */
export function range(_, low, high) {
  if (low === null || high === null) return [low, high];
  const more = Math.max((high - low) * MARGIN, (LEAST - (high - low)) / 2);
  return [low - more, high + more];
}

export function axes() {
  const both = { stroke: () => colour("quiet"), grid: { stroke: () => colour("line"), width: 1 }, ticks: { show: false } };
  return [
    { ...both, size: 32, space: 90, values: (_, times, __, ___, step) => times.map((time) => timeOf(time, step)) },
    { ...both, size: 60 },
  ];
}

/** Say in words what a chart shows, for those who do not see it. */
export function named(place, text) {
  const canvas = place.querySelector("canvas");
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", text);
}
