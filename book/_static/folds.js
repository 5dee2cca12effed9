/* Folds: on paper all are open, and the target of a link is never inside a closed one.
   Figures: the caption of one that is wider than the page says that it scrolls. */
(() => {
  "use strict";
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const fold of opened) fold.open = true;
  });
  addEventListener("afterprint", () => {
    for (const fold of opened) fold.open = false;
  });

  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details"))
      fold.open = true;
    target.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  addEventListener("load", reveal);

  function measure() {
    for (const figure of document.querySelectorAll(".cell_output figure"))
      figure.classList.toggle("wide", figure.scrollWidth > figure.clientWidth);
  }
  addEventListener("resize", measure);
  addEventListener("load", measure);
})();
