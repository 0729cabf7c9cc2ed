// The one ticker: it fires `ops:tick`, for which every live region listens; and the guards that keep what the user did.
(() => {
  const body = document.body;
  const announcer = document.getElementById("announcer");
  const stale = document.getElementById("stale");
  const button = document.getElementById("live");
  const pace = Number(body.dataset.pace) * 1000;
  const longest = 60_000;
  let misses = 0, pressed = false, ticking = false, timer = 0, said = 0;
  let on = pace > 0 && sessionStorage.getItem("ops-live") !== "off";

  const say = (text) => { if (announcer && text) announcer.textContent = text; };
  const wait = () => Math.min(longest, pace * 2 ** misses) * (0.9 + Math.random() * 0.2);
  const schedule = () => { clearTimeout(timer); if (on) timer = setTimeout(tick, wait()); };
  const tick = () => {
    ticking = true;
    if (!document.hidden && !pressed && !held.page()) htmx.trigger(body, "ops:tick");
    ticking = false;
    held.tell();
    schedule();
  };
  const show = () => {
    if (!button) return;
    button.hidden = pace === 0 || !document.querySelector("[data-live]");
    button.setAttribute("aria-pressed", String(on));
  };
  const toggle = () => {
    if (!pace) return;
    on = !on;
    sessionStorage.setItem("ops-live", on ? "on" : "off");
    say(on ? announcer.dataset.on : announcer.dataset.off);
    show();
    held.tell();
    if (on) tick(); else clearTimeout(timer);
  };
  const missed = () => {
    misses = Math.min(misses + 1, 5);
    if (stale && misses === 2) { stale.hidden = false; say(stale.textContent.trim()); }
    schedule();
  };

  body.addEventListener("htmx:beforeRequest", (event) => {
    if (ticking && held.region(event.detail.elt)) event.preventDefault();
  });
  for (const name of ["htmx:sendError", "htmx:responseError", "htmx:timeout"]) body.addEventListener(name, missed);
  body.addEventListener("htmx:afterRequest", (event) => {
    if (!event.detail.successful) return;
    // The status head is told of an outage: its answer does not mean that the page's own parts are up to date.
    if (event.target.id === "status" && document.querySelector("[data-live]")) return;
    if (misses) { misses = 0; stale.hidden = true; schedule(); }
    const news = document.querySelector("[data-announce]");
    if (news && Date.now() - said > 10_000) { said = Date.now(); say(news.textContent.trim()); }
  });
  addEventListener("pointerdown", () => { pressed = true; });
  for (const name of ["pointerup", "pointercancel", "blur"]) addEventListener(name, () => { pressed = false; });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && on) tick(); });
  button?.addEventListener("click", toggle);
  window.ops = { toggle };

  // Idiomorph would untick boxes, close details and empty fields.
  Object.assign(Idiomorph.defaults.callbacks, {
    beforeAttributeUpdated: (name, node) =>
      !((name === "checked" && node.matches(".tick, #tick-all")) || (name === "open" && node.matches("details, dialog")) ||
        (name === "value" && node.matches("input") && (node.type === "range" || held.edited(node))) || (name === "hidden" && node.id === "tick-all") || name === "aria-expanded"),
    beforeNodeMorphed: (old, fresh) => {
      if (old.id === "chunk-tip") return false; // it stays with the pointer
      const told = fresh.dataset ?? {};
      if (told.kept !== undefined) return false;
      if (told.deleted !== undefined) {
        old.dataset.gone = "";
        const word = Object.assign(document.createElement("span"), { className: "state", textContent: told.deleted });
        old.querySelector(".state-cell").replaceChildren(word);
        return false;
      }
      if (told.row !== undefined && fresh.matches("tr")) steady.keepHeight(old, fresh);
      if (told.steady !== undefined) steady.keepOrder(old, fresh);
      return true;
    },
  });
  for (const part of document.querySelectorAll("details[data-remember]")) {
    const name = `ops-${part.id}`;
    if (localStorage.getItem(name) === "closed") part.open = false;
    part.addEventListener("toggle", () => localStorage.setItem(name, part.open ? "open" : "closed"));
  }
  show();
  schedule();
})();
