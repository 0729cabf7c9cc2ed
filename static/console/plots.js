// Charts of the history by uPlot over the drawings of the server: crosshair with values in all charts at once, a drag that
// zooms, a click that shows that minute's page, and a legend whose lines can be switched off.
(() => {
  const LEAST = 8; // pixels of a drag
  const LONGEST = 18; // characters of the name of a deployment
  const hidden = {}; // lines that are switched off, by chart: live updates keep them
  let known = { key: "" }, shown = null;

  const regions = () => document.querySelectorAll("[data-values]");
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const minute = (seconds) => `${new Date(seconds * 1000).toISOString().slice(0, 16)}Z`;
  const go = (changes) => {
    const query = new URLSearchParams(location.search);
    for (const name of ["range", "at", "since", "until"]) query.delete(name);
    for (const [name, value] of Object.entries(changes)) query.set(name, value);
    location.assign(`${location.pathname}?${query}#history`);
  };
  const isOff = (word, number) => hidden[word]?.has(number) ?? false;

  // One region is drawn of one answer; it is asked for again when a step was added.
  const load = (history) => {
    const key = `${history.dataset.values} ${history.dataset.from} ${history.dataset.points}`;
    if (known.key === key && known.values) return draw(history, known.values);
    known = { key };
    fetch(history.dataset.values, { headers: { Accept: "application/json" } })
      .then((answer) => (answer.ok ? answer.json() : Promise.reject(new Error(answer.statusText))))
      .then((values) => { if (known.key === key) { known.values = values; draw(history, values); } })
      .catch(() => { if (known.key === key) known = { key: "" }; }); // the drawing of the server stays
  };

  const colours = (chart) => [...chart.querySelectorAll(".key")].map((key) => getComputedStyle(key, "::before").borderTopColor);
  const UNITS = [1, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 2_419_200];
  const axes = (values, top) => {
    const ink = style("--q-soft"), line = { stroke: style("--q-line"), width: 1 }, font = "11px system-ui, sans-serif";
    const label = (seconds) => values.axis[Math.round((seconds * 1000 - values.from) / values.step)] ?? "";
    return [
      { stroke: ink, font, size: 20, gap: 2, space: 56, grid: { show: false }, ticks: { ...line, size: 3 },
        incrs: UNITS.filter((seconds) => seconds * 1000 >= values.step), values: (_plot, splits) => splits.map(label) },
      { stroke: ink, font, size: 48, gap: 4, grid: line, ticks: { show: false },
        splits: (_plot, _axis, _least, most) => [0, most / 2, most], values: () => ["0", "", top()] },
    ];
  };
  const KINDS = { alarm: "--q-bad", end: "--q-good", version: "--q-accent", start: "--q-soft", action: "--q-warn", chosen: "--q-accent" };
  // Moments: a few lines have the height of the chart, the others are ticks; the name of a deployment is beside its line.
  const marks = (plot, values, at) => {
    const { ctx, bbox } = plot, ratio = devicePixelRatio;
    let free = 0;
    ctx.save();
    ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    const chosen = at ? [{ at: Number(at), kind: "chosen", top: 0 }] : [];
    for (const mark of [...values.marks, ...chosen]) {
      const x = Math.round(plot.valToPos(mark.at / 1000, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = ctx.fillStyle = style(KINDS[mark.kind] ?? "--q-soft");
      ctx.lineWidth = mark.kind === "chosen" ? 2 * ratio : ratio;
      ctx.setLineDash(["alarm", "chosen"].includes(mark.kind) ? [] : [4 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top + bbox.height * mark.top / 100);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      if (mark.kind !== "version" || mark.top || x < free) continue;
      const name = mark.text.length > LONGEST ? `${mark.text.slice(0, LONGEST - 1)}…` : mark.text;
      const width = ctx.measureText(name).width, left = Math.min(x + 4 * ratio, bbox.left + bbox.width - width);
      ctx.fillText(name, left, bbox.top + ratio);
      free = left + width + 6 * ratio;
    }
    ctx.restore();
  };
  const readout = (place) => {
    const found = place.querySelector(".readout");
    if (found) return found;
    const made = Object.assign(document.createElement("p"), { className: "readout" });
    made.setAttribute("aria-hidden", "true");
    place.append(made);
    return made;
  };
  const near = (values, index) => values.marks.filter((mark) => Math.abs(mark.at - values.from - index * values.step) <= values.step / 2);
  const told = (history, place, word, values) => (plot) => {
    const { idx, left } = plot.cursor;
    if (idx == null || left < 0) { place.querySelector(".readout")?.remove(); return; }
    shown = left / plot.over.clientWidth;
    const marked = near(values, idx).slice(0, 2).map((mark) => `\n${mark.word}: ${mark.text}`).join("");
    readout(place).textContent = `${values.times[idx].slice(-5)}  ${values.charts[word][idx] || "–"}${marked}`;
    readout(place).classList.toggle("readout-left", left > plot.over.clientWidth / 2);
  };

  const make = (history, chart, values) => {
    const word = chart.dataset.word, place = chart.querySelector(".plot"), numbers = values.numbers[word];
    if (!numbers || place.querySelector(".uplot")) return;
    const seen = () => numbers.map((row, at) => (isOff(word, at) ? -1 : Math.max(...row.map((each) => each ?? 0))));
    const top = () => values.tops[word][seen().indexOf(Math.max(...seen()))] ?? "";
    const paint = colours(chart), dashes = [[], [5, 3], [2, 3]];
    const fill = place.querySelector(".area") ? getComputedStyle(place.querySelector(".area")).fill : "";
    const series = numbers.map((_row, at) => ({
      stroke: paint[at], width: 1.75, dash: dashes[at], points: { size: 5 }, show: !isOff(word, at),
      fill: at || !fill ? undefined : `color-mix(in srgb, ${fill} 10%, transparent)`,
    }));
    place.classList.add("plotted");
    const plot = new uPlot({
      width: place.clientWidth, height: place.clientHeight, padding: [16, 18, 0, 0], legend: { show: false },
      scales: { x: { time: true }, y: { range: () => [0, Math.max(...seen()) || 1] } },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), values.zone),
      axes: axes(values, top), series: [{}, ...series],
      cursor: { y: false, points: { size: 6 }, sync: { key: "history" }, drag: { x: true, y: false, setScale: false, dist: LEAST } },
      hooks: {
        draw: [(drawn) => marks(drawn, values, history.dataset.at)],
        setCursor: [told(history, place, word, values)],
        setSelect: [(drawn) => {
          if (drawn.select.width < LEAST) return;
          const [from, until] = [drawn.select.left, drawn.select.left + drawn.select.width].map((at) => drawn.posToVal(at, "x"));
          go({ since: minute(from), until: minute(until + values.step / 1000) });
        }],
      },
    }, [values.times.map((_time, at) => (values.from + at * values.step) / 1000), ...numbers], place);
    let down = null;
    plot.over.addEventListener("pointerdown", (event) => {
      down = event.button === 0 && event.pointerType !== "touch" ? event.clientX : null;
    });
    plot.over.addEventListener("pointerup", (event) => {
      if (down !== null && Math.abs(event.clientX - down) < LEAST && plot.cursor.idx != null)
        go({ range: history.dataset.range, at: minute((values.from + plot.cursor.idx * values.step) / 1000) });
      down = null;
    });
    chart.plot = plot;
    legend(chart, plot, word);
  };
  const legend = (chart, plot, word) => {
    const keys = [...chart.querySelectorAll("figcaption .key")];
    if (keys.length < 2) return;
    keys.forEach((key, at) => {
      key.setAttribute("role", "button");
      key.tabIndex = 0;
      key.setAttribute("aria-pressed", String(!isOff(word, at)));
      key.onclick = () => {
        const off = (hidden[word] ??= new Set());
        if (!off.delete(at) && off.size < keys.length - 1) off.add(at); // one line stays
        key.setAttribute("aria-pressed", String(!off.has(at)));
        plot.setSeries(at + 1, { show: !off.has(at) });
      };
      key.onkeydown = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); key.click(); } };
    });
  };
  const draw = (history, values) => {
    for (const chart of history.querySelectorAll(".chart")) make(history, chart, values);
    const kept = shown; // a plot has its size after this turn
    if (kept) setTimeout(() => { for (const { plot } of history.querySelectorAll(".chart")) plot?.setCursor({ left: kept * plot.over.clientWidth, top: 0 }); });
  };
  const clear = () => {
    for (const chart of document.querySelectorAll(".chart")) {
      chart.plot?.destroy();
      delete chart.plot;
    }
  };
  const all = () => { for (const history of regions()) load(history); };

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") for (const chart of document.querySelectorAll(".chart")) chart.plot?.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  });
  document.documentElement.addEventListener("pointermove", (event) => { if (!event.target.closest?.(".u-over")) shown = null; });
  document.body.addEventListener("htmx:afterSettle", (event) => {
    if (!event.target.closest?.("[data-values]") && !event.target.querySelector?.("[data-values]")) return;
    const kept = shown;
    clear();
    shown = kept;
    known = { key: "" }; // a step was added
    all();
  });
  new MutationObserver(() => { clear(); all(); }).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; clear(); all(); } });
  all();
})();
