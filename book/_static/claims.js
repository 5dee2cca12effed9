/* A filter for the tables of claims. Without this script the page shows them all. */
(() => {
  "use strict";
  const place = document.querySelector(".claim-filter");
  const rows = [...document.querySelectorAll("table.claim-list tr[data-verdict]")];
  if (!place || rows.length === 0) return;

  const text = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const chosen = new Set();

  const make = (tag, attributes, content) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      element.setAttribute(name, value);
    }
    if (content) element.append(content);
    return element;
  };

  const field = make("input", {
    type: "search",
    placeholder: "Filter: a word, a theorem, a number",
    "aria-label": "Filter the claims",
  });
  const buttons = make("div", {
    class: "claim-filter-verdicts",
    role: "group",
    "aria-label": "Show these verdicts only",
  });
  const count = make("p", { class: "claim-filter-count", role: "status" });

  // One button for each verdict that occurs, with the badge that the table shows.
  const seen = new Map();
  for (const row of rows) {
    if (!seen.has(row.dataset.verdict)) {
      seen.set(row.dataset.verdict, row.querySelector(".verdict"));
    }
  }
  for (const [verdict, badge] of seen) {
    const button = make(
      "button",
      { type: "button", "aria-pressed": "false" },
      badge.cloneNode(true),
    );
    button.addEventListener("click", () => {
      if (!chosen.delete(verdict)) chosen.add(verdict);
      button.setAttribute("aria-pressed", String(chosen.has(verdict)));
      apply();
    });
    buttons.append(button);
  }

  const folds = [...document.querySelectorAll("details.claim-fold")];

  function apply() {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const active = words.length > 0 || chosen.size > 0;
    let shown = 0;
    for (const row of rows) {
      const fits =
        (chosen.size === 0 || chosen.has(row.dataset.verdict)) &&
        words.every((word) => text.get(row).includes(word));
      row.hidden = !fits;
      if (fits) shown += 1;
    }
    for (const box of document.querySelectorAll(".claim-scroll")) {
      const list = box.querySelector("table.claim-list");
      if (list) box.hidden = !list.querySelector("tr[data-verdict]:not([hidden])");
    }
    for (const fold of folds) {
      const hit = fold.querySelector("tr[data-verdict]:not([hidden])");
      fold.hidden = !hit;
      fold.open = active && Boolean(hit);
    }
    count.textContent = active
      ? `${shown} of ${rows.length} entries`
      : `${rows.length} entries; all but the headlines are folded`;
  }

  field.addEventListener("input", apply);
  place.append(field, buttons, count);
  place.hidden = false;
  apply();
})();
