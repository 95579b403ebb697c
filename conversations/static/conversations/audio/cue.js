/** A soft sign that something is being done: two quiet tones, no louder than breath. */

const TONES = [523.25, 659.25];
const TONE_S = 0.14;
const LOUDEST = 0.04;

/** To be heard by someone who waits for it. */
export const CLEAR = 0.15;

/**
 * @param {BaseAudioContext} context
 * @param {AudioNode} exit
 * @param {number} [loudest]
 * @returns {number} seconds that it takes
 */
export function soundCue(context, exit, loudest = LOUDEST) {
  TONES.forEach((frequency, number) => {
    const from = context.currentTime + number * TONE_S;
    const volume = context.createGain();
    volume.gain.setValueAtTime(0, from);
    volume.gain.linearRampToValueAtTime(loudest, from + TONE_S / 4);
    volume.gain.linearRampToValueAtTime(0, from + TONE_S);
    const tone = context.createOscillator();
    tone.frequency.value = frequency;
    tone.connect(volume).connect(exit);
    tone.start(from);
    tone.stop(from + TONE_S);
  });
  return TONES.length * TONE_S;
}
