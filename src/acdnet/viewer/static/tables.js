// The tables of an evaluation.

import { $, make } from "./dom.js";

export function fillTables(tables) {
  const button = $("tables-button");
  button.hidden = !tables.length;
  button.onclick = () => { $("tables").hidden = !$("tables").hidden; button.classList.toggle("on", !$("tables").hidden); };
  const line = (cells, kind) => make("tr", {}, ...cells.map((text) => make(kind, { textContent: text })));
  $("tables").replaceChildren(...tables.flatMap(({ title, note, columns, rows }) => [
    make("h3", { textContent: title }),
    make("table", {}, line(columns, "th"), ...rows.map((row) => line(row, "td"))),
    make("p", { textContent: note }),
  ]));
}
