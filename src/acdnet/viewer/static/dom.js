// Elements of the page, and numbers as it tells them.

export const $ = (id) => document.getElementById(id);

// Make an element with some properties, and with what is in it.
export function make(tag, properties = {}, ...content) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...content);
  return element;
}

// A number to three digits, without zeros that say nothing.
export const short = (value) => String(Number(value.toPrecision(3)));
