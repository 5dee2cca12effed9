/* Explorers (dplib.book.explorer): a slider over the rows of a table, whose cells are
   the values. The table stays below, folded; without this script it is simply there. */
(() => {
  "use strict";
  const make = (tag, attributes, ...content) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      element.setAttribute(name, value);
    }
    element.append(...content);
    return element;
  };

  // A column's values against the rows, from 0 to its top, with a dot at one of them.
  function curve(values, top) {
    const x = (k) => (100 * k) / Math.max(1, values.length - 1);
    const y = (k) => 100 - (100 * Math.min(values[k], top)) / top;
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("viewBox", "0 0 100 100");
    svg.setAttribute("preserveAspectRatio", "none");
    const line = document.createElementNS(space, "polyline");
    line.setAttribute("points", values.map((_, k) => `${x(k)},${y(k)}`).join(" "));
    svg.append(line);
    const dot = make("span", { class: "explorer-dot" });
    const box = make("span", { class: "explorer-curve", "aria-hidden": "true" }, svg, dot);
    const move = (k) => Object.assign(dot.style, { left: `${x(k)}%`, top: `${y(k)}%` });
    return { box, move };
  }

  function build(explorer) {
    const table = explorer.querySelector("table");
    const [over, ...labels] = [...table.tHead.rows[0].cells].map((c) => c.textContent);
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells]);
    const tops = explorer.dataset.tops.split(" ").map(Number);

    const id = `${explorer.id}-slider`;
    const slider = make("input", {
      type: "range",
      id,
      min: 0,
      max: rows.length - 1,
      step: 1,
      value: explorer.dataset.start,
      autocomplete: "off",
    });
    const place = make("strong", { class: "explorer-place" });
    const label = make("label", { for: id }, `${over} = `, place);
    const output = make("output", {
      class: "explorer-output",
      for: id,
      "aria-live": "polite",
      "aria-atomic": "true",
    });
    const items = labels.map((text, k) => {
      const values = rows.map((cells) => Number(cells[k + 1].dataset.value));
      const value = make("strong", { class: "explorer-value" });
      const { box, move } = curve(values, tops[k]);
      const name = make("span", { class: "explorer-label" }, text);
      output.append(make("span", { class: "explorer-item" }, name, " ", value, box));
      return { value, move };
    });

    const show = () => {
      const cells = rows[slider.value];
      place.textContent = cells[0].textContent;
      slider.setAttribute("aria-valuetext", `${over} = ${cells[0].textContent}`);
      items.forEach(({ value, move }, k) => {
        value.textContent = cells[k + 1].textContent;
        move(slider.value);
      });
    };
    slider.addEventListener("input", show);

    const controls = make("div", { class: "explorer-controls" }, label, slider, output);
    const fold = make("details", {}, make("summary", {}, "All values as a table"));
    table.replaceWith(controls, fold);
    fold.append(make("div", { class: "explorer-scroll", tabindex: 0 }, table));
    show();
  }

  addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".explorer").forEach(build);
  });
})();
