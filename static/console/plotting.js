// Loads the script that plots, on pages with charts.
(() => {
  const history = document.querySelector("[data-plots]");
  if (history) document.head.append(Object.assign(document.createElement("script"), { src: history.dataset.plots }));
})();
