// The axes of charts: time in UTC, as everywhere on the pages, and values.
import { colour } from "./common.js";

export const timeOf = (at) => new Date(at * 1000).toISOString().slice(11, 19);

export function axes() {
  const both = { stroke: () => colour("quiet"), grid: { stroke: () => colour("line"), width: 1 }, ticks: { show: false } };
  return [
    { ...both, size: 32, space: 90, values: (_, times) => times.map(timeOf) },
    { ...both, size: 60 },
  ];
}
