// A plan: titles and texts come in, parts that open and close go out.
import { make } from "./common.js";

const OPEN = new Set(["language", "reports", "windows", "instants", "ticks", "runs"]);

export function showPlan(place, plan) {
  const parts = Object.entries(plan).filter(([, text]) => text);
  const short = parts.filter(([title]) => OPEN.has(title));
  const facts = short.flatMap(([title, text]) => [make("dt", {}, title), make("dd", {}, text)]);
  const long = parts.filter(([title]) => !OPEN.has(title));
  place.replaceChildren(
    make("dl", {}, ...facts),
    ...long.map(([title, text]) => make("details", {}, make("summary", {}, title), make("pre", { class: "code" }, text))),
  );
}
