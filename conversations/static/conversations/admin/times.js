/** Times: UTC as the server writes them, each with the reader's own time at hand. */

const SHAPES = {
  clock: new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" }),
  day: new Intl.DateTimeFormat("en-GB", {
    day: "2-digit",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }),
};

export const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/**
 * Gives every time its counterpart as a title; with `own` the two change places.
 * @param {ParentNode} root
 * @param {boolean} own
 */
export function tellTimes(root, own) {
  for (const each of root.querySelectorAll("time[datetime]")) {
    if (!(each instanceof HTMLElement)) continue;
    const utc = (each.dataset.utc ??= each.textContent ?? "");
    const here = SHAPES[each.dataset.form === "clock" ? "clock" : "day"].format(
      new Date(each.getAttribute("datetime") ?? ""),
    );
    each.textContent = own ? here.replace(",", "") : utc;
    each.title = own ? `${utc} UTC` : `${here} in ${ZONE}`;
  }
}
