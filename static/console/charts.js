// Charts of the history: the values under the pointer in all charts at once, a drag zooms, a click shows that minute's page.
(() => {
  const LEAST = 8; // pixels of a drag
  let known = { key: "" }, shown = null, begun = null;

  const number = (history, name) => Number(history.dataset[name]);
  const share = (plot, event) => {
    const box = plot.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  const point = (history, place) => Math.round(place * (number(history, "points") - 1));
  const time = (history, place) => number(history, "from") + point(history, place) * number(history, "step");
  const minute = (ms) => `${new Date(ms).toISOString().slice(0, 16)}Z`;

  // The values are asked for when the pointer first comes to a chart, and again when a step was added.
  const load = (history) => {
    const key = `${history.dataset.values} ${history.dataset.from}`;
    if (known.key === key) return;
    known = { key };
    fetch(history.dataset.values, { headers: { Accept: "application/json" } })
      .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(answer.statusText))))
      .then((values) => { if (known.key === key) { known.values = values; if (shown) show(...shown); } })
      .catch(() => { if (known.key === key) known = { key: "" }; }); // the next move asks again
  };
  const drawn = (svg, name, word) => {
    const found = svg.querySelector(`.${word}`);
    if (found) return found;
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    made.setAttribute("class", word);
    svg.append(made);
    return made;
  };
  const set = (node, values) => { for (const [name, value] of Object.entries(values)) node.setAttribute(name, value); };
  const readout = (plot) => {
    const found = plot.querySelector(".readout");
    if (found) return found;
    const made = document.createElement("p");
    made.className = "readout";
    made.setAttribute("aria-hidden", "true");
    plot.append(made);
    return made;
  };
  const show = (history, place) => {
    shown = [history, place];
    const at = point(history, place), x = (at / Math.max(1, number(history, "points") - 1)) * 1000;
    const values = known.values && known.key.startsWith(`${history.dataset.values} `) ? known.values : null;
    const index = values ? Math.round((time(history, place) - values.from) / values.step) : -1;
    for (const chart of history.querySelectorAll(".chart")) {
      const plot = chart.querySelector(".plot"), svg = plot.querySelector("svg");
      set(drawn(svg, "line", "cursor"), { x1: x, x2: x, y1: 0, y2: 100 });
      plot.classList.add("pointed");
      const said = values?.charts[chart.dataset.word]?.[index];
      if (values?.times[index]) readout(plot).textContent = `${values.times[index].slice(-5)}  ${said || "–"}`;
      readout(plot).classList.toggle("readout-left", place > 0.5);
    }
  };
  const span = () => {
    const [from, until] = [begun.place, begun.now].sort((a, b) => a - b);
    for (const svg of begun.history.querySelectorAll(".plot svg"))
      set(drawn(svg, "rect", "span"), { x: from * 1000, width: (until - from) * 1000, y: 0, height: 100 });
  };
  const hide = () => {
    if (!shown) return;
    for (const node of shown[0].querySelectorAll(".cursor, .readout, .span")) node.remove();
    shown = begun = null;
  };
  const go = (query) => location.assign(`${location.pathname}?${new URLSearchParams(query)}#history`);

  document.addEventListener("pointermove", (event) => {
    const plot = begun ? begun.plot : event.target.closest?.("[data-values] .plot");
    if (!plot) return hide();
    const history = plot.closest("[data-values]");
    load(history);
    show(history, share(plot, event));
    if (begun && Math.abs(event.clientX - begun.x) >= LEAST) {
      begun.now = share(plot, event);
      span();
    }
  });
  document.addEventListener("pointerdown", (event) => {
    const plot = event.target.closest?.("[data-values] .plot");
    if (!plot || event.button !== 0 || event.pointerType === "touch") return;
    event.preventDefault(); // no text is selected, which would hold the live updates
    begun = { plot, history: plot.closest("[data-values]"), place: share(plot, event), x: event.clientX };
  });
  document.addEventListener("pointerup", () => {
    if (!begun) return;
    const { history, place, now } = begun;
    hide();
    if (now === undefined) return go({ range: history.dataset.range, at: minute(time(history, place)) });
    const [from, until] = [place, now].sort((a, b) => a - b);
    go({ since: minute(time(history, from)), until: minute(time(history, until) + number(history, "step")) });
  });
  document.addEventListener("pointercancel", hide);
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  document.documentElement.addEventListener("pointerleave", () => { if (!begun) hide(); });
  document.body.addEventListener("htmx:afterSettle", () => { if (shown && shown[0].isConnected) { load(shown[0]); show(...shown); } });
})();
