// The tables of an evaluation, below its pictures.

const $ = (id) => document.getElementById(id);

export function fillTables(tables) {
  const button = $("tables-button");
  button.hidden = !tables.length;
  button.onclick = () => { $("tables").hidden = !$("tables").hidden; button.classList.toggle("on", !$("tables").hidden); };
  const line = (cells, kind) => {
    const row = document.createElement("tr");
    row.append(...cells.map((text) => Object.assign(document.createElement(kind), { textContent: text })));
    return row;
  };
  $("tables").replaceChildren(...tables.flatMap(({ title, note, columns, rows }) => {
    const table = document.createElement("table");
    table.append(line(columns, "th"), ...rows.map((row) => line(row, "td")));
    const head = Object.assign(document.createElement("h3"), { textContent: title });
    return [head, table, Object.assign(document.createElement("p"), { textContent: note })];
  }));
}
