// What holds live updates: a changed field holds its region, selected text and an open menu hold the page. The button says so.
(() => {
  const button = document.getElementById("live");
  // A one-line field drops the line breaks of its `value` attribute; `defaultValue` keeps them.
  const given = (field) => field.matches("input") ? field.defaultValue.replace(/[\r\n]/g, "") : field.defaultValue;
  const edited = (field) => !field.matches(".tick,#tick-all,[type=hidden],[type=range]") &&
    (field === document.activeElement || (field.matches("select")
      ? [...field.options].some((option) => option.selected !== option.defaultSelected)
      : field.value !== given(field)));
  const region = (part) => [...part.querySelectorAll("input, select, textarea")].some(edited);
  const page = () => {
    if (!getSelection().isCollapsed) return "selection";
    return document.querySelector("dialog[open], details.menu[open]") ? "menu" : "";
  };
  const reason = () => page() || ([...document.querySelectorAll("[data-live]")].some(region) ? "field" : "");
  const tell = () => {
    if (!button) return;
    const found = button.getAttribute("aria-pressed") === "true" ? reason() : "";
    if (found === (button.dataset.held ?? "")) return;
    if (found) button.dataset.held = found; else delete button.dataset.held;
    button.lastElementChild.textContent = found ? button.dataset.wordHeld : button.dataset.wordLive;
    button.title = found ? button.dataset[`why${found[0].toUpperCase()}${found.slice(1)}`] : button.dataset.whyLive;
  };
  for (const name of ["input", "change", "focusin", "focusout"]) addEventListener(name, () => setTimeout(tell));
  document.addEventListener("selectionchange", tell);
  window.held = { edited, region, page, tell };
})();
