/** Makes a part of the page like a freshly sent one, in place: focus, open details and scrolling stay. */

/**
 * @param {Element} there in the page
 * @param {Element} fresh of the same kind, which is left as it is
 */
export function morph(there, fresh) {
  copyAttributes(there, fresh);
  const wanted = new Set([...fresh.children].map((child) => child.id).filter(Boolean));
  for (const child of [...there.children]) if (child.id && !wanted.has(child.id)) child.remove();
  const known = new Map([...there.children].filter((child) => child.id).map((child) => [child.id, child]));
  let at = there.firstChild;
  for (const child of fresh.childNodes) {
    const same = (child instanceof Element && known.get(child.id)) || (alike(at, child) ? at : null);
    if (!same) {
      there.insertBefore(document.importNode(child, true), at);
      continue;
    }
    if (same !== at) there.insertBefore(same, at);
    become(same, child);
    at = same.nextSibling;
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/**
 * @param {Node | null} there
 * @param {Node} fresh
 */
function alike(there, fresh) {
  if (there?.nodeName !== fresh.nodeName) return false;
  return !(there instanceof Element && fresh instanceof Element) || there.id === fresh.id;
}

/**
 * @param {Node} there
 * @param {Node} fresh alike
 */
function become(there, fresh) {
  if (there instanceof Element && fresh instanceof Element) morph(there, fresh);
  else if (there.nodeValue !== fresh.nodeValue) there.nodeValue = fresh.nodeValue;
}

/**
 * All but what the reader has opened or closed.
 * @param {Element} there
 * @param {Element} fresh
 */
function copyAttributes(there, fresh) {
  const kept = there instanceof HTMLDetailsElement ? "open" : "";
  for (const { name } of [...there.attributes]) {
    if (name !== kept && !fresh.hasAttribute(name)) there.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (name !== kept && there.getAttribute(name) !== value) there.setAttribute(name, value);
  }
}
