// The strip of chunks: the range input over the picture is its cursor. Pointer and arrow keys tell what a column holds;
// Enter, a click of a mouse and the button open it (the server knows where that leads).
(() => {
  const strip = () => document.getElementById("chunkstrip");
  const number = (text, values) => text.replace("%n", values[0]).replace("%m", values[1]);

  const told = (form, column) => {
    const { first, end, width, columns, attempts, one, many, tries, names } = form.dataset;
    const words = names.split(","), size = Number(width), from = Number(first) + column * size;
    if (size > 1) {
      const counts = columns.split(";")[column]?.split(",") ?? [];
      const parts = counts.flatMap((count, state) => (count === "0" ? [] : [`${count} ${words[state]}`]));
      return `${number(many, [from, Math.min(from + size, Number(end)) - 1])}: ${parts.join(", ")}`;
    }
    const failed = attempts.split(",")[column];
    const more = failed && failed !== "0" ? `, ${number(tries, [failed])}` : "";
    return `${number(one, [from])}: ${words[columns[column]] ?? "–"}${more}`;
  };
  const tell = () => {
    const form = strip(), cursor = form?.elements.column;
    if (!cursor) return;
    const text = told(form, Number(cursor.value));
    cursor.setAttribute("aria-valuetext", text);
    if (cursor.matches(":focus, :hover") || cursor.value !== "0") document.getElementById("chunk-told").textContent = text;
  };
  const columnAt = (cursor, x) => {
    const box = cursor.getBoundingClientRect(), count = Number(cursor.max) + 1;
    return Math.max(0, Math.min(count - 1, Math.floor(((x - box.left) / box.width) * count)));
  };
  let pointer = null; // where it rests over the strip
  const point = () => {
    const tip = document.getElementById("chunk-tip"), cursor = strip()?.elements.column;
    if (!tip || !cursor) return;
    tip.hidden = pointer === null;
    if (tip.hidden) return;
    const box = cursor.getBoundingClientRect();
    tip.textContent = told(strip(), columnAt(cursor, pointer));
    const half = tip.offsetWidth / 2;
    tip.style.left = `${Math.max(half, Math.min(box.width - half, pointer - box.left))}px`;
  };
  const isCursor = (event) => event.target.id === "chunk-cursor";

  document.addEventListener("input", (event) => { if (isCursor(event)) tell(); });
  document.addEventListener("focusin", (event) => { if (isCursor(event)) tell(); });
  document.addEventListener("pointermove", (event) => {
    pointer = isCursor(event) ? event.clientX : null;
    point();
  });
  document.addEventListener("click", (event) => {
    if (!isCursor(event) || event.pointerType !== "mouse") return;
    event.target.value = columnAt(event.target, event.clientX);
    strip().requestSubmit();
  });
  document.addEventListener("keydown", (event) => {
    if (isCursor(event) && event.key === "Enter") { event.preventDefault(); strip().requestSubmit(); }
  });
  document.body.addEventListener("htmx:afterSettle", () => { tell(); point(); });
  tell();
})();
