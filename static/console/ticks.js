// Tick boxes of a table: all of a page, a range with shift, and how many there are.
(() => {
  const boxes = () => [...document.querySelectorAll("tr:not([data-gone]) .tick")];
  const count = document.getElementById("ticked");
  let last = null;

  const tell = () => {
    const all = document.getElementById("tick-all");
    if (!all) return;
    const ticked = document.querySelectorAll(".tick:checked").length;
    if (count) count.textContent = ticked || "";
    all.hidden = false;
    all.checked = ticked > 0 && ticked === boxes().length;
    all.indeterminate = ticked > 0 && !all.checked;
  };
  const range = (box) => {
    const list = boxes(), [from, to] = [list.indexOf(last), list.indexOf(box)].sort((a, b) => a - b);
    if (from >= 0) for (const one of list.slice(from, to)) one.checked = box.checked;
  };
  document.addEventListener("click", (event) => {
    const box = event.target;
    if (!(box instanceof HTMLInputElement)) return;
    if (box.id === "tick-all") for (const one of boxes()) one.checked = box.checked;
    if (box.matches(".tick")) {
      if (event.shiftKey && last) range(box);
      last = box;
    }
    tell();
  });
  document.addEventListener("ops:ticked", tell);
  document.body.addEventListener("htmx:afterSettle", tell);
  tell();

  // Folded on a phone, open on a desk; without JavaScript the summary opens it.
  const wide = matchMedia("(min-width: 1200px)");
  for (const fold of document.querySelectorAll("details[data-wide-open]")) fold.open = wide.matches;
})();
