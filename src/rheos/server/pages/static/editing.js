// A field in which a query is written: its text is coloured while it is, and what the server says is wrong is
// underlined at the place that the parser says.
import { byId, make } from "./common.js";
import { highlight, place } from "./highlight.js";

const LEAST = 260; // pixels

export class Editing {
  /** `changed` is called with every key, `finished` when somebody presses Ctrl+Enter. */
  constructor(changed, finished) {
    this.field = byId("editor");
    this.shown = this.field.parentElement.querySelector("code");
    this.mistake = null;
    this.changed = changed;
    const scrolled = this.shown.parentElement;
    this.field.addEventListener("input", () => this.touch());
    this.field.addEventListener("scroll", () => (scrolled.scrollLeft = this.field.scrollLeft));
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Tab" && !event.shiftKey && !event.ctrlKey && !event.metaKey) {
        // Escape first, and Tab leaves the field as everywhere.
        if (this.field.dataset.leave) return;
        event.preventDefault();
        this.field.setRangeText("  ", this.field.selectionStart, this.field.selectionEnd, "end");
        this.touch();
      } else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) finished();
      this.field.dataset.leave = event.key === "Escape" ? "1" : "";
    });
    addEventListener("resize", () => this.draw());
    this.draw();
  }

  get text() {
    return this.field.value;
  }

  set text(text) {
    this.field.value = text;
    this.touch();
  }

  touch() {
    this.mistake = null;
    this.draw();
    this.changed();
  }

  draw() {
    highlight(this.shown, this.field.value, this.mistake);
    this.shown.append("\n"); // or an empty last line would have no height
    this.field.style.height = "auto";
    this.field.style.height = `${Math.max(this.field.scrollHeight, LEAST)}px`;
    this.shown.parentElement.scrollLeft = this.field.scrollLeft;
  }

  /** Say what is wrong, and where; nothing without an error. */
  problem(error) {
    const told = byId("problem");
    this.mistake = null;
    told.hidden = !error;
    if (error) {
      const { line, column, title, detail } = error.problem || { title: error.message };
      told.replaceChildren();
      if (line) {
        this.mistake = place(this.text, line, column);
        const there = make("button", { type: "button", class: "place" }, `line ${line}, column ${column}`);
        there.addEventListener("click", () => {
          const [from, to] = place(this.text, line, column);
          this.field.focus();
          this.field.setSelectionRange(from, to);
        });
        told.append(there, " ");
      }
      told.append(line || !detail ? title : `${title}: ${detail}`);
    }
    this.draw();
  }
}

/** Fill a list of examples, in groups; `chosen` is called with the one that somebody takes. */
export function offer(select, examples, chosen) {
  const groups = new Map();
  examples.forEach(({ group, title }, index) => {
    if (!groups.has(group)) groups.set(group, make("optgroup", { label: group }));
    groups.get(group).append(new Option(title, String(index)));
  });
  select.append(...groups.values());
  select.addEventListener("change", () => select.value && chosen(examples[Number(select.value)]));
}

// A text goes from one page of queries to the other in the browser; it may be long.
const MOVED = "query";

/** Take the text along when somebody follows a link. */
export const takeAlong = (link, text) => link.addEventListener("click", () => sessionStorage.setItem(MOVED, text()));

/** The text that somebody has brought along. */
export function broughtAlong() {
  const text = sessionStorage.getItem(MOVED);
  sessionStorage.removeItem(MOVED);
  return text || "";
}
