// Before the first paint: a person who left the theme to the system gets the system's, and follows it when it changes.
(() => {
  const root = document.documentElement;
  if (root.dataset.themeChoice !== "auto") return;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => root.setAttribute("data-bs-theme", dark.matches ? "dark" : "light");
  follow();
  dark.addEventListener("change", follow);
})();
