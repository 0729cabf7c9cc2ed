// What keeps rows and values in their places while they are updated; `ops.js` calls it before idiomorph changes a node.
(() => {
  // A row has as many lines as it was shown with: what stands below it does not move.
  const keepHeight = (old, fresh) => {
    const was = old.querySelector("[data-line]"), is = fresh.querySelector("[data-line]");
    if (was && !is) fresh.querySelector("th").append(was.cloneNode(true));
    if (is && !was) is.remove();
  };
  // Values keep their places, whatever their counts are; new ones come last.
  const keepOrder = (old, fresh) => {
    const places = new Map([...old.children].map((item, place) => [item.dataset.key, place]));
    const place = (item) => places.get(item.dataset.key) ?? places.size;
    fresh.append(...[...fresh.children].sort((a, b) => place(a) - place(b)));
  };
  window.steady = { keepHeight, keepOrder };
})();
