// Command palette: Ctrl-K or its button. Actions of this page are pressed where they stand; the server finds the rest.
(() => {
  const dialog = document.getElementById("palette"), button = document.querySelector("[data-palette]");
  if (!dialog?.showModal) return;
  const input = dialog.querySelector("input[name=q]"), list = document.getElementById("palette-hits");
  let waiting = 0, asked = null, shown = null;

  const items = () => [...list.querySelectorAll(".palette-item")];
  const ticked = () => document.querySelectorAll("main .tick:checked").length;
  const acts = () => [...document.querySelectorAll("main :is(.actions, #bulk, .page-head) :is(button[type=submit], summary)")]
    .filter((each) => each.checkVisibility() && !each.disabled && !each.closest(".notes"));
  const press = (act) => {
    dialog.close();
    act.focus();
    act.click();
  };
  const local = (text) => {
    const found = acts().filter((act) => act.textContent.trim().toLowerCase().includes(text));
    if (!found.length) return [];
    const head = document.createElement("p"), rows = document.createElement("ul");
    head.className = "palette-head";
    head.id = "palette-here";
    head.textContent = dialog.dataset.here;
    rows.setAttribute("aria-labelledby", head.id);
    for (const act of found) {
      const row = document.createElement("li"), item = document.createElement("button");
      item.type = "button";
      item.className = "palette-item";
      item.textContent = act.textContent.trim() + (act.closest("#bulk") ? `: ${ticked()} ${dialog.dataset.selected}` : "");
      item.addEventListener("click", () => press(act));
      row.append(item);
      rows.append(row);
    }
    return [head, rows];
  };
  const show = async () => {
    const text = input.value.trim();
    asked?.abort();
    asked = new AbortController();
    try {
      const query = new URLSearchParams({ q: text, here: location.pathname + location.search });
      const answer = await fetch(`${dialog.dataset.hits}?${query}`, { signal: asked.signal, headers: { "HX-Request": "true" } });
      if (answer.status === 401) location.reload();
      if (!answer.ok) throw new Error(await answer.text());
      list.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes);
      list.prepend(...local(text.toLowerCase()));
      shown = text;
    } catch (error) {
      if (error.name !== "AbortError") list.textContent = error.message.slice(0, 200);
    }
  };
  const open = () => {
    if (dialog.open) return;
    dialog.showModal();
    input.select();
    show();
  };
  const move = (step) => {
    const all = [input, ...items()], at = Math.max(0, all.indexOf(document.activeElement));
    all[(at + step + all.length) % all.length].focus();
  };

  // A verb alone: the field gets it, and what it may act on is shown.
  list.addEventListener("click", (event) => {
    const offer = event.target.closest("[data-fill]");
    if (!offer) return;
    event.preventDefault();
    input.value = offer.dataset.fill;
    input.focus();
    show();
  });
  if (button) { button.hidden = false; button.addEventListener("click", open); }
  input.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(show, 90); });
  input.form.addEventListener("submit", (event) => {
    const first = items()[0];
    if (first && shown === input.value.trim()) { event.preventDefault(); first.click(); }
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    move(step);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });
})();
