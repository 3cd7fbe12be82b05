// DOM helpers and number formats.

export const $ = (id) => document.getElementById(id);

// Create an element with properties and content.
export function make(tag, properties = {}, ...content) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...content);
  return element;
}

// Format a server time; the year is shown only if it is not the current one.
export function formatTime(seconds) {
  const time = new Date(seconds * 1000);
  const year = time.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" };
  const [day, hour] = [{ day: "numeric", month: "short", ...year }, { hour: "2-digit", minute: "2-digit" }];
  return `${time.toLocaleDateString("en-GB", day)} ${time.toLocaleTimeString("en-GB", hour)}`;
}

export const count = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

// Format a number with three significant digits and no trailing zeros.
export const short = (value) => String(Number(value.toPrecision(3)));
