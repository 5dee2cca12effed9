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
  // Its label stands above; on the axes are three values each, and the slider's name.
  function curve(values, top, ticks, places, over) {
    const x = (k) => (100 * k) / Math.max(1, values.length - 1);
    const y = (k) => 100 - (100 * Math.min(values[k], top)) / top;
    const space = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(space, "svg");
    svg.setAttribute("viewBox", "0 0 100 100");
    svg.setAttribute("preserveAspectRatio", "none");
    const draw = (name, points) => {
      const line = document.createElementNS(space, "polyline");
      line.setAttribute("class", name);
      line.setAttribute("points", points);
      svg.append(line);
    };
    draw("explorer-grid", "100,0 0,0 0,50 100,50");
    draw("explorer-line", values.map((_, k) => `${x(k)},${y(k)}`).join(" "));
    const dot = make("span", { class: "explorer-dot" });
    const span = (text) => make("span", {}, text);
    const left = make("span", { class: "explorer-y" }, ...ticks.map(span));
    const below = make("span", { class: "explorer-x" });
    for (const k of new Set([0, values.length >> 1, values.length - 1])) {
      below.append(make("span", { style: `left: ${x(k)}%` }, places[k]));
    }
    const plot = make("span", { class: "explorer-plot" }, svg, dot);
    const name = make("span", { class: "explorer-over" }, `${over}, not to scale`);
    const parts = [left, plot, below, name];
    const box = make("span", { class: "explorer-curve", "aria-hidden": "true" }, ...parts);
    const move = (k) => Object.assign(dot.style, { left: `${x(k)}%`, top: `${y(k)}%` });
    return { box, move };
  }

  function build(explorer) {
    const table = explorer.querySelector("table");
    const [over, ...labels] = [...table.tHead.rows[0].cells].map((c) => c.textContent);
    const rows = [...table.tBodies[0].rows].map((row) => [...row.cells]);
    const places = rows.map((cells) => cells[0].textContent);
    const tops = explorer.dataset.tops.split(" ").map(Number);
    const ticks = JSON.parse(explorer.dataset.ticks);

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
      const { box, move } = curve(values, tops[k], ticks[k], places, over);
      const name = make("span", { class: "explorer-label" }, text);
      output.append(make("span", { class: "explorer-item" }, name, " ", value, box));
      return { value, move };
    });

    const show = () => {
      const cells = rows[slider.value];
      place.textContent = places[slider.value];
      slider.setAttribute("aria-valuetext", `${over} = ${places[slider.value]}`);
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
