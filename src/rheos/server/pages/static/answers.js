// Answers as rows of a table: lines of NDJSON come in, cells go out; the newest are on top.
import { clock, make, seconds, instant, term, triple } from "./common.js";

const MOST = 200; // rows that are shown

/** The columns that answers of a query have. */
function columns(answer, variables) {
  const times = answer.start ? ["at", "lasted"] : answer.at ? ["at"] : [];
  if ("boolean" in answer) return [...times, "answer"];
  return [...times, ...("triple" in answer ? ["subject", "predicate", "object"] : variables.map((name) => `?${name}`))];
}

function cells(answer, variables) {
  const time = make("td", { class: "time", title: answer.at || "" }, clock(answer.at));
  const times = answer.at ? [time] : [];
  if (answer.start) {
    const length = seconds(instant(answer.end) - instant(answer.start));
    times.push(make("td", { class: "time", title: `${answer.start} – ${answer.end}` }, length));
  }
  if ("boolean" in answer) return [...times, make("td", { class: "boolean" }, answer.boolean ? "yes" : "no")];
  const found = "triple" in answer ? triple(answer.triple) : null;
  if ("triple" in answer && !found) return [...times, make("td", { colspan: "3" }, answer.triple)];
  const terms = found ? Object.values(found) : variables.map((name) => value(answer, name));
  return [...times, ...terms.map((given) => make("td", {}, term(given)))];
}

/** The value of a variable: of the row, or of what stands beside it. */
function value(answer, name) {
  const row = answer.row || {};
  const error = (answer.error || {})[name.replace(/_error$/, "")];
  if (name in row) return row[name];
  if (name === "skipped" && answer.skipped) return { type: "literal", value: "skipped" };
  return name.endsWith("_error") && error !== undefined ? { type: "literal", value: `± ${error}` } : undefined;
}

export class Answers {
  constructor(table, variables) {
    this.head = table.tHead;
    this.body = table.tBodies[0];
    this.variables = variables;
    this.last = null;
  }

  add(answers) {
    const shown = answers.slice(-MOST);
    if (!shown.length) return;
    if (!this.head.children.length) {
      const names = columns(shown[0], this.variables).map((name) => make("th", { scope: "col" }, name));
      this.head.append(make("tr", {}, ...names));
    }
    const rows = shown.map((answer) => {
      const row = make("tr", { class: "new" }, ...cells(answer, this.variables));
      // The first of an instant stands at its lower end, as the newest are on top.
      if (answer.at !== this.last) row.classList.add("instant");
      this.last = answer.at;
      return row;
    });
    this.body.prepend(...rows.reverse());
    while (this.body.children.length > MOST) this.body.lastChild.remove();
  }
}
