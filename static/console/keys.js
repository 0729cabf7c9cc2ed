// Keys: `/` find, `?` help, `g` and a letter to go, `j` `k` to move, `x` to tick, `b` to act, Enter to open, `r` for live updates.
(() => {
  const help = document.getElementById("help");
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.checkVisibility?.() ?? true);
  let going = false;

  const typing = (target) => target.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
  const here = () => document.activeElement?.closest?.("[data-row]");
  const move = (step) => {
    const list = rows(), at = list.indexOf(here());
    const row = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.max(0, Math.min(list.length - 1, at + step))];
    const link = row?.querySelector("[data-open], a, button");
    link?.focus();
    row?.scrollIntoView({ block: "nearest" });
  };
  const tick = () => {
    const box = here()?.querySelector(".tick");
    if (!box) return;
    box.checked = !box.checked;
    document.dispatchEvent(new Event("ops:ticked"));
  };
  const go = (key) => document.querySelector(`nav.side a[data-go="${CSS.escape(key)}"]`)?.click();
  const acts = {
    "/": () => document.getElementById("find")?.focus(),
    "?": () => help?.showModal(),
    g: () => { going = true; setTimeout(() => { going = false; }, 1200); },
    r: () => window.ops?.toggle(),
    j: () => move(1),
    k: () => move(-1),
    x: tick,
    b: () => document.querySelector("#bulk button")?.focus(),
  };
  const pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || help?.open) return;
    if (going && event.key !== "g") { going = false; event.preventDefault(); go(event.key); return; }
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  };
  if (document.body.dataset.keys === "on") document.addEventListener("keydown", pressed);
  document.querySelector("[data-help]")?.addEventListener("click", (event) => { event.preventDefault(); help?.showModal(); });
  document.querySelector("[data-flash]")?.focus({ preventScroll: true });

  // On a phone the navigation, the tabs and the states are strips: what one is on is in sight.
  for (const strip of document.querySelectorAll("nav.side, .tabs, .chips")) {
    const here = strip.querySelector("[aria-current]")?.getBoundingClientRect(), box = strip.getBoundingClientRect();
    if (here) strip.scrollLeft += here.left - box.left - (box.width - here.width) / 2;
  }

  // An action in steps goes on by itself while its page is open and the user is not leaving it for another.
  const next = document.querySelector("form[data-go-on]");
  if (next) {
    const step = setTimeout(() => { if (next.isConnected) next.requestSubmit(); }, 400);
    addEventListener("beforeunload", () => clearTimeout(step), { once: true });
  }

  // A menu closes when one clicks elsewhere or presses Escape.
  const menus = () => document.querySelectorAll("details.menu[open]");
  document.addEventListener("click", (event) => { for (const menu of menus()) if (!menu.contains(event.target)) menu.open = false; });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of menus()) { menu.open = false; menu.querySelector("summary").focus(); }
  });
})();
