// Colours of things: a name comes in, and the same colour for it goes out, wherever it is drawn on this page.
import { colour } from "./common.js";

const COUNT = 12; // colours of the style sheet; the next ones are the same, and dashed

export class Colours {
  constructor() {
    this.known = new Map();
  }

  number(name) {
    if (!this.known.has(name)) this.known.set(name, this.known.size);
    return this.known.get(name);
  }

  of(name) {
    return colour(`line${this.number(name) % COUNT}`);
  }

  dash(name) {
    return Math.floor(this.number(name) / COUNT) % 2 ? [6, 4] : undefined;
  }
}
