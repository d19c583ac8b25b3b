const KEY = 'rocmforge weights per second';

/** Of a model's answers: how many bytes of weights a device went through in a second, by the device's name. */
type Kept = Readonly<Record<string, number>>;

/** Notes the speed of an answer, from which that of other models is guessed: each token reads all weights once. */
export function noteSpeed(device: string, weightBytes: number, tokensPerSecond: number): void {
  try {
    const kept = { ...readKept(), [device]: Math.round(weightBytes * tokensPerSecond) };
    localStorage.setItem(KEY, JSON.stringify(kept));
  } catch {
    // Storage is full or forbidden: nothing is guessed.
  }
}

/** Tokens per second that a model of so many bytes, of which a token reads `share`, would have here; undefined before any has answered. */
export function guessSpeed(device: string, weightBytes: number, share = 1): number | undefined {
  const rate = readKept()[device];
  return typeof rate === 'number' && rate > 0 ? rate / (weightBytes * share) : undefined;
}

function readKept(): Kept {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '{}');
    return typeof kept === 'object' && kept !== null ? (kept as Kept) : {};
  } catch {
    return {};
  }
}
