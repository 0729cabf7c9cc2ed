// The search line of tasks: options for the text before the cursor, and the texts of earlier searches of this browser.
(() => {
  const field = document.getElementById("filter");
  if (!field) return;
  const list = document.getElementById("filter-options"), name = "ops-filters", most = 10;
  let timer = 0, asked = 0, at = -1;
  const earlier = () => { try { return JSON.parse(localStorage.getItem(name)) || []; } catch { return []; } };
  const keep = (text) => localStorage.setItem(name, JSON.stringify([text, ...earlier().filter((each) => each !== text)].slice(0, most)));
  if (field.value.trim() && !field.hasAttribute("aria-invalid")) keep(field.value.trim());

  const close = () => { list.hidden = true; at = -1; field.setAttribute("aria-expanded", "false"); field.removeAttribute("aria-activedescendant"); };
  const open = () => {
    at = -1;
    list.hidden = !list.children.length;
    field.setAttribute("aria-expanded", String(!list.hidden));
    field.removeAttribute("aria-activedescendant");
  };
  const showEarlier = () => {
    list.replaceChildren(...earlier().map((text, index) => {
      const option = Object.assign(document.createElement("li"), { id: `filter-option-${index + 1}`, role: "option" });
      const code = Object.assign(document.createElement("code"), { textContent: text });
      option.append(code, Object.assign(document.createElement("span"), { textContent: list.dataset.earlier }));
      Object.assign(option.dataset, { begin: 0, text, whole: "" });
      return option;
    }));
    open();
  };
  const ask = async () => {
    const mine = ++asked, text = field.value.slice(0, field.selectionStart);
    const answer = await fetch(`${field.dataset.options}?text=${encodeURIComponent(text)}`).catch(() => null);
    if (mine !== asked || !answer?.ok || document.activeElement !== field) return;
    list.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes);
    open();
  };
  const take = (option) => {
    const rest = option.dataset.whole === undefined ? field.value.slice(field.selectionStart) : "";
    const text = field.value.slice(0, Number(option.dataset.begin)) + option.dataset.text;
    const goesOn = /[:<>=]$/.test(text);
    field.value = text + (goesOn || rest ? "" : " ") + rest;
    field.setSelectionRange(field.value.length - rest.length, field.value.length - rest.length);
    close();
    field.focus();
    if (goesOn) ask();
  };
  const move = (step) => {
    const options = [...list.children];
    at = (at + step + options.length + (at < 0 && step < 0 ? 1 : 0)) % options.length;
    options.forEach((option, index) => option.setAttribute("aria-selected", String(index === at)));
    options[at].scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", options[at].id);
  };

  for (const [key, value] of Object.entries({ role: "combobox", "aria-expanded": "false", "aria-autocomplete": "list", "aria-controls": list.id })) field.setAttribute(key, value);
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 120); });
  field.addEventListener("focus", () => { if (!field.value) showEarlier(); });
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !list.hidden) { event.stopPropagation(); close(); return; }
    if (event.key === "ArrowDown" && list.hidden) { event.preventDefault(); ask(); return; }
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); move(event.key === "ArrowDown" ? 1 : -1); }
    if ((event.key === "Enter" || event.key === "Tab") && at >= 0) { event.preventDefault(); take(list.children[at]); }
  });
  list.addEventListener("pointerdown", (event) => {
    event.preventDefault(); // the field keeps the focus
    const option = event.target.closest("li");
    if (option) take(option);
  });
})();
