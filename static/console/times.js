// Relative times, written anew as they grow old; the same words as `console/ui/formatting.py`. The exact time is the title.
(() => {
  const space = "\u202f";
  const units = [[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1000, "s"]];
  const words = document.body.dataset;

  const relative = (distance) => {
    const found = units.find(([size]) => Math.abs(distance) >= size);
    if (!found) return null;
    const [size, letter] = found;
    return (distance > 0 ? words.ago : words.in).replace("%s", `${Math.floor(Math.abs(distance) / size)}${space}${letter}`);
  };
  const plain = (distance) => {
    if (distance < 10_000) return `${(Math.max(0, distance) / 1000).toFixed(1).replace(".", words.decimal)}${space}s`;
    if (distance < 60_000) return `${Math.floor(distance / 1000)}${space}s`;
    const at = units.findIndex(([size]) => distance >= size);
    const [size, letter] = units[at], [small, smallLetter] = units[at + 1];
    const rest = distance % size;
    const whole = `${Math.floor(distance / size)}${space}${letter}`;
    return rest >= small ? `${whole} ${Math.floor(rest / small)}${space}${smallLetter}` : whole;
  };
  const write = () => {
    if (document.hidden || !getSelection().isCollapsed) return;
    const now = Date.now();
    for (const time of document.querySelectorAll("time[data-ms]")) {
      const distance = now - Number(time.dataset.ms);
      const text = "plain" in time.dataset ? plain(distance) : relative(distance);
      if (text && time.textContent !== text) time.textContent = text;
    }
  };
  setInterval(write, 1000);
})();
