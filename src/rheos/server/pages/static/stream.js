// The page of a stream: its numbers, its rate as a chart, and the window as it moves; another window is an
// address.
import { axes, named, range } from "./axes.js";
import { again, anew, byId, clock, colour, get, instant, lately, lateness, number, numbers, seconds } from "./common.js";

const name = document.querySelector("[data-stream]").dataset.stream;
const EVERY = 2;
let plot = null;

/** The rates of the last two minutes of event time, where the page has a place for them. */
function draw(rates, until) {
  const place = byId("rates");
  if (!place || rates.length < 2) return;
  const data = [rates.map((_, index) => instant(until) - (rates.length - 1 - index) * EVERY), rates];
  if (plot) return plot.setData(data);
  plot = new uPlot(
    {
      width: place.clientWidth,
      height: 140,
      legend: { show: false },
      cursor: { y: false },
      scales: { x: { range }, y: { range: (_, low, high) => [0, Math.max(high, 1)] } },
      axes: axes(),
      series: [{}, { label: "elements a second", stroke: () => colour("accent"), width: 2, fill: () => colour("wash") }],
    },
    data,
    place,
  );
  named(place, `elements a second of ${name}, over two minutes of event time`);
  new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: 140 })).observe(place);
  addEventListener("theme", () => plot.redraw());
}

if (byId("rates")) {
  again(async () => {
    const found = (await get("/streams")).streams.find((stream) => stream.name === name);
    if (!found) return;
    numbers(byId("numbers"), [
      ["elements a second", number(lately(found.rates))],
      ["event time", clock(found.time), found.time],
      ["lag", found.ended ? "ended" : seconds(found.lag), "how far event time is behind the clock", found.ended ? "" : lateness(found.lag)],
      ["in windows", number(found.held)],
      ["elements", number(found.elements)],
      ["late", number(found.late)],
      ["bad", number(found.bad)],
    ]);
    draw(found.rates, found.rates_until);
  }, 1000);
}

again(async () => {
  if (getSelection().toString() || byId("window").matches(":hover")) return; // somebody reads, or is about to click
  const now = await anew("window");
  if (now) byId("window").replaceWith(document.adoptNode(now));
}, 2000);

for (const form of document.querySelectorAll("#choose form")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = Object.fromEntries([...new FormData(form)].map(([key, text]) => [key, encodeURIComponent(text.trim())]));
    const window = form.dataset.kind === "physical" ? `physical/${given.triples}` : `logical/${given.size}/${given.step}`;
    location.href = `/page/${encodeURIComponent(name)}/${window}`;
  });
}
