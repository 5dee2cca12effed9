/* A filter for claims and errata. Without this script the page shows them all. */
(() => {
  "use strict";
  const place = document.querySelector(".claim-filter");
  const rows = [...document.querySelectorAll("[data-level]")];
  if (!place || rows.length === 0) return;

  const text = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const headlines = new Set(rows.filter((row) => row.dataset.level === "headline"));
  const chosen = new Set(); // verdicts; none means all
  let everything = false; // else headlines only

  const make = (tag, attributes, ...content) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      element.setAttribute(name, value);
    }
    element.append(...content);
    return element;
  };

  const group = (label) =>
    make("div", { class: "claim-filter-buttons", role: "group", "aria-label": label });

  const button = (content, press) => {
    const made = make("button", { type: "button", "aria-pressed": "false" }, content);
    made.addEventListener("click", () => {
      press();
      apply();
    });
    return made;
  };

  const field = make("input", {
    type: "search",
    placeholder: "Filter: a word, a theorem, a number",
    "aria-label": "Filter the claims",
  });
  const levels = group("Show headlines or everything");
  const few = button("headlines", () => (everything = false));
  const all = button("everything", () => (everything = true));
  levels.append(few, all);

  // One button for each verdict that occurs, with the badge that the page shows.
  const verdicts = group("Show these verdicts only");
  const seen = new Map();
  for (const row of rows) {
    if (!seen.has(row.dataset.verdict)) {
      seen.set(row.dataset.verdict, row.querySelector(".verdict"));
    }
  }
  const pressed = new Map([
    [few, () => !everything],
    [all, () => everything],
  ]);
  for (const [verdict, badge] of seen) {
    const made = button(badge.cloneNode(true), () => {
      if (!chosen.delete(verdict)) chosen.add(verdict);
    });
    pressed.set(made, () => chosen.has(verdict));
    verdicts.append(made);
  }
  const count = make("p", { class: "claim-filter-count", role: "status" });

  const folds = [...document.querySelectorAll("details.claim-fold")];
  const visible = "[data-level]:not([hidden])";
  let sought = false; // whether the last time something was looked for

  function apply() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const seeking = words.length > 0 || chosen.size > 0;
    const hits = rows.filter(
      (row) =>
        (chosen.size === 0 || chosen.has(row.dataset.verdict)) &&
        words.every((word) => text.get(row).includes(word)),
    );
    const leading = hits.filter((row) => headlines.has(row));
    const shown = new Set(everything ? hits : leading);
    for (const row of rows) row.hidden = !shown.has(row);
    for (const box of document.querySelectorAll(".claim-scroll")) {
      if (box.querySelector("[data-level]")) box.hidden = !box.querySelector(visible);
    }
    for (const fold of folds) {
      fold.hidden = !fold.querySelector(visible);
      // What is found is opened, and closed again; else a fold is the reader's.
      if (seeking || sought) fold.open = seeking && !fold.hidden;
    }
    sought = seeking;
    for (const [made, on] of pressed) made.setAttribute("aria-pressed", String(on()));
    few.textContent = `headlines (${leading.length})`;
    all.textContent = `everything (${hits.length})`;
    const others = everything ? 0 : hits.length - leading.length;
    count.textContent =
      `${shown.size} of ${rows.length} entries are shown` +
      (seeking && others > 0 ? `; ${others} more fit what you look for` : "");
  }

  // A link to an entry shows it, and paper has all that was not filtered out.
  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !target.closest("[hidden]")) return;
    everything = true;
    field.value = "";
    chosen.clear();
    apply();
    target.scrollIntoView();
  }
  let before = false;
  addEventListener("beforeprint", () => {
    before = everything;
    if (!sought) everything = true;
    apply();
  });
  addEventListener("afterprint", () => {
    everything = before;
    apply();
  });
  addEventListener("hashchange", reveal);
  addEventListener("load", reveal);

  field.addEventListener("input", apply);
  place.append(field, levels, verdicts, count);
  place.hidden = false;
  apply();
})();
