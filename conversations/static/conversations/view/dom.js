/** Making and finding elements; text goes in as text, never as markup. */

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {string} className
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...children);
  return element;
}

/** @typedef {Document | ShadowRoot} Page where the client's elements are: a page of its own, or part of another */

/**
 * @template {HTMLElement} T
 * @param {Page} page
 * @param {string} id
 * @param {{new (): T}} kind
 * @returns {T}
 */
export function find(page, id, kind) {
  const element = page.getElementById(id);
  if (!(element instanceof kind)) throw new TypeError(`the page has no ${kind.name} #${id}`);
  return element;
}

/**
 * @param {string} name of a symbol in the page
 * @returns {SVGSVGElement}
 */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", `#icon-${name}`);
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
}

/**
 * Writes only what changed: a live region repeats whatever is written.
 * @param {Element} element
 * @param {string} text
 */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Puts the nodes into the container in this order and removes all others; what is in place is not touched.
 * @param {Element} container
 * @param {Node[]} nodes
 */
export function arrange(container, nodes) {
  nodes.forEach((node, i) => {
    const there = container.childNodes[i];
    if (there !== node) container.insertBefore(node, there ?? null);
  });
  while (container.childNodes.length > nodes.length) container.lastChild?.remove();
}
