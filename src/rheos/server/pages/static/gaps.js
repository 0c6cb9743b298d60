// Gaps: the values of some lines at their times come in, columns for uPlot go out, in which a line is broken
// where its values are clearly further apart than usual. For uPlot, null breaks a line and undefined does not.

const FAR = 2.5; // times the usual distance

/** How far apart times usually are: half of them are closer. */
export function usual(times) {
  const gaps = times.slice(1).map((at, index) => at - times[index]).filter((gap) => gap > 0).sort((a, b) => a - b);
  return gaps.length ? gaps[Math.floor((gaps.length - 1) / 2)] : 0;
}

/** Where a line is broken: between which of its times. Of two alone nobody knows what is usual. */
function breaks(times) {
  const far = times.length > 2 ? FAR * usual(times) : 0;
  const pairs = times.slice(1).map((at, index) => [times[index], at]);
  return pairs.filter(([before, at]) => at - before > far);
}

/** The columns of some lines (each a Map from times to values), and for each line the places of its values that
 * stand alone. */
export function columns(lines) {
  const broken = lines.map((line) => breaks([...line.keys()].sort((a, b) => a - b)));
  const middles = broken.flatMap((pairs) => pairs.map(([before, at]) => (before + at) / 2));
  const times = [...new Set([...lines.flatMap((line) => [...line.keys()]), ...middles])].sort((a, b) => a - b);
  // In a gap it has no value at any time, also where others have one: uPlot would draw it up to there.
  const none = (pairs, at) => (pairs.some(([before, after]) => before < at && at < after) ? null : undefined);
  const values = lines.map((line, index) => times.map((at) => (line.has(at) ? line.get(at) : none(broken[index], at))));
  return { data: [times, ...values], alone: values.map(alone) };
}

/** A value stands alone that has a gap on both sides, so that no line goes to it. */
function alone(values) {
  const kept = values.map((value, place) => [value, place]).filter(([value]) => value !== undefined);
  const none = (index) => kept[index] === undefined || kept[index][0] === null;
  return kept.filter(([value], index) => value !== null && none(index - 1) && none(index + 1)).map(([, place]) => place);
}
