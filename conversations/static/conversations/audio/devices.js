/** The microphones and loudspeakers that the browser tells of; their names only once it lets the page hear. */

/** @typedef {import("../types.js").Device} Device */

/** Not devices of their own, but what the system takes by default. */
const ALIASES = new Set(["", "default", "communications"]);

/**
 * @param {readonly Pick<MediaDeviceInfo, "kind" | "deviceId" | "label">[]} found
 * @param {MediaDeviceKind} kind
 * @returns {Device[]}
 */
export function devicesOf(found, kind) {
  return found
    .filter((device) => device.kind === kind && !ALIASES.has(device.deviceId))
    .map(({ deviceId, label }) => ({ id: deviceId, label }));
}

/** @returns {Promise<{inputs: Device[], outputs: Device[]}>} */
export async function listDevices() {
  const found = (await navigator.mediaDevices?.enumerateDevices().catch(() => [])) ?? [];
  return { inputs: devicesOf(found, "audioinput"), outputs: devicesOf(found, "audiooutput") };
}
