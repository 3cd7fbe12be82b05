// Elements of the page, and numbers as it tells them.

export const $ = (id) => document.getElementById(id);

// Make an element with some properties, and with what is in it.
export function make(tag, properties = {}, ...content) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...content);
  return element;
}

// A time of the server as people write it; the year is told where it is another one.
export function when(seconds) {
  const time = new Date(seconds * 1000);
  const year = time.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  const [day, hour] = [{ day: "numeric", month: "short", ...year }, { hour: "2-digit", minute: "2-digit" }];
  return `${time.toLocaleDateString("en-GB", day)} ${time.toLocaleTimeString("en-GB", hour)}`;
}

export const count = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

// A number to three digits, without zeros that say nothing.
export const short = (value) => String(Number(value.toPrecision(3)));
